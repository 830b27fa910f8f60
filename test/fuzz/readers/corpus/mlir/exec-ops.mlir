
tg.mesh @mesh [dp = 4, tp = 2]

tg.kernel @kernel(%x: tensor<4xf32>, %n: tensor<index>) -> (tensor<4xf32>, tensor<i1>) {
  %yes = arith.constant dense<true> : tensor<i1>
  tg.return %x, %yes : tensor<4xf32>, tensor<i1>
}

exec.program @unplanned() attributes {streams = 1, alignment = 128} {
  %x = exec.slice : memref<4xf32>
  %y = exec.slice : memref<4xf32>
  exec.fill %x with 1.0 : f32 stream 0 : memref<4xf32>
  exec.fill %y with 1.0 : f32 stream 0 : memref<4xf32>
  exec.return
}

exec.program @all(%x: memref<4xf32> {tg.donated, tg.name = "x", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>},
                  %rate: memref<f32> {tg.role = #tg.role<learning_rate>},
                  %flag: memref<i1>)
    -> (memref<4xf32> {tg.role = #tg.role<loss>}, memref<i64>)
    attributes {streams = 3, arena = 1024, lower_bound = 512} {
  %dp = exec.communicator on @mesh [dp]
  %seven = exec.constant dense<7> : tensor<i64>
  %one = exec.constant dense<1> : tensor<index>
  %a = exec.slice 0 : memref<4xf32>
  %b = exec.slice 64 : memref<16xf32>
  %i = exec.slice 128 : memref<index>
  %ok = exec.slice 192 : memref<i1>
  exec.axis_index over %dp to %i stream 0
  exec.launch @kernel(%x, %i) to (%a, %ok) stream 0 {tg.module = "a"}
      : (memref<4xf32>, memref<index>) -> (memref<4xf32>, memref<i1>)
  %e = exec.record stream 0
  exec.wait %e stream 1
  exec.collective all_gather dim 0 (%a) to (%b) over %dp stream 1 {tg.phase = #tg.phase<forward>}
      : (memref<4xf32>) -> memref<16xf32>
  %gathered = exec.record stream 1
  exec.wait %gathered stream 0
  exec.wait %gathered stream 2
  exec.collective reduce_scatter dim 0 reduction <avg> accumulate f64 (%b) to (%a) over %dp stream 2
      : (memref<16xf32>) -> memref<4xf32>
  exec.collective all_reduce reduction <sum> (%a, %b) to (%a, %b) over %dp stream 2 tag -5
      : (memref<4xf32>, memref<16xf32>) -> (memref<4xf32>, memref<16xf32>)
  exec.collective all_to_all split 0 concat 0 (%b) to (%b) over %dp stream 2 : (memref<16xf32>) -> memref<16xf32>
  exec.collective broadcast root 3 (%a) to (%a) over %dp stream 2 : (memref<4xf32>) -> memref<4xf32>
  exec.collective permute sources [0, 1] targets [1, 2] (%a) to (%a) over %dp stream 2 : (memref<4xf32>) -> memref<4xf32>
  exec.collective permute sources [] targets [] () to () over %dp stream 2 : () -> ()
  %done = exec.record stream 2
  exec.wait %done stream 0
  %part = exec.view %b[16] : memref<16xf32> to memref<2x2xf32>
  %flat = exec.view %part[0] : memref<2x2xf32> to memref<4xf32>
  exec.copy %flat to %x stream 0 : memref<4xf32>
  exec.fill %ok with true stream 0 : memref<i1>
  exec.if %flag {
    exec.copy %flat to %a stream 0 : memref<4xf32>
  }
  exec.for %i = %one to %one step %one : memref<index> {
    exec.if %ok {
    } else {
      exec.fill %a with 0.0 : f32 stream 0 : memref<4xf32>
    } {tg.id = "if"}
  }
  exec.return %a, %seven : memref<4xf32>, memref<i64>
}
