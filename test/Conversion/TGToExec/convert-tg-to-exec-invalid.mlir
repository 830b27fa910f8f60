// RUN: regather-opt %s -split-input-file --convert-tg-to-exec -verify-diagnostics

// Everything that a program cannot hold is reported at once.
func.func private @first(tensor<4xf32>) -> tensor<4xf32>
func.func private @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @step(%x: tensor<4xf32>, %z: tensor<2xcomplex<f32>>) -> tensor<4xf32> {
  // expected-error @-1 {{a program cannot hold value '%arg1' of type tensor<2xcomplex<f32>> (1 use)}}
  // expected-error @+1 {{a program cannot hold 'func.call' of "first", which has no body (2 uses)}}
  %0 = call @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @first(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{a program cannot hold 'func.call' of "second", which was not inlined (1 use)}}
  %2 = call @second(%1) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{a program cannot hold value '%3' of type tensor<4xf8E5M2> (1 use)}}
  %3 = arith.truncf %2 : tensor<4xf32> to tensor<4xf8E5M2>
  // expected-error @+1 {{a program cannot hold 'tg.node' "my.print", which is called for its effects (1 use)}}
  tg.node "my.print"(%3) effects : (tensor<4xf8E5M2>) -> ()
  return %2 : tensor<4xf32>
}

// -----

func.func @dynamic(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // expected-error @+1 {{a program cannot hold value '%extracted_slice' of type tensor<?xf32>, whose dimension 0 is dynamic (1 use)}}
  %0 = tensor.extract_slice %x[0] [%n] [1] : tensor<4xf32> to tensor<?xf32>
  %1 = tensor.insert_slice %0 into %x[0] [%n] [1] : tensor<?xf32> into tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

tg.mesh @mesh [dp = 2]
func.func @while(%flag: i1, %x: tensor<4xf32>) {
  // expected-error @+1 {{a program cannot hold 'scf.while' around operations that a kernel cannot hold (1 use)}}
  scf.while : () -> () {
    scf.condition(%flag)
  } do {
    %0 = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
    scf.yield
  }
  return
}

// -----

// expected-error @+1 {{a step must have one block, got 2}}
func.func @blocks() {
  cf.br ^end
^end:
  return
}

// -----

// expected-note @+1 {{the first one is here}}
func.func @a() {
  return
}
// expected-error @+1 {{module has several public functions; name one with 'entry'}}
func.func @b() {
  return
}
