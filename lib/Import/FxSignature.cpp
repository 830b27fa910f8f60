//===- FxSignature.cpp - Arguments and results of the step ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxSignature.h"

#include "FxTypes.h"

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static bool isPlaceholder(const JsonValue &node) {
  const JsonValue *op = node.find("op");
  return op && op->is(Kind::String) && op->getString() == "placeholder";
}

/// The other names of a tied parameter.
static FailureOr<ArrayAttr> readAliases(FxFile &file, const JsonValue &entry) {
  FailureOr<ArrayRef<JsonValue>> names =
      file.getArray(entry, "aliases", /*optional=*/true);
  if (failed(names))
    return failure();
  Builder builder(file.getContext());
  SmallVector<Attribute> aliases;
  for (const JsonValue &name : *names) {
    if (failed(file.expect(name, Kind::String)))
      return failure();
    aliases.push_back(builder.getStringAttr(name.getString()));
  }
  return builder.getArrayAttr(aliases);
}

FailureOr<NamedAttrList> FxSignature::readAttributes(const JsonValue &entry,
                                                     tg::RoleKind role,
                                                     Type type) {
  Builder builder(file.getContext());
  NamedAttrList attrs;
  FailureOr<StringRef> name = file.requireString(entry, "name");
  FailureOr<StringAttr> module = file.getModule(entry);
  if (failed(name) || failed(module))
    return failure();
  attrs.set(tg::kNameAttrName, builder.getStringAttr(*name));
  if (*module)
    attrs.set(tg::kModuleAttrName, *module);
  attrs.set(tg::kRoleAttrName, tg::RoleAttr::get(file.getContext(), role));
  if (role == tg::RoleKind::Parameter) {
    const JsonValue *registration =
        file.require(entry, "registration", Kind::Integer);
    const JsonValue *trained =
        file.require(entry, "requires_grad", Kind::Boolean);
    FailureOr<ArrayAttr> aliases = readAliases(file, entry);
    if (!registration || !trained || failed(aliases))
      return failure();
    if (registration->getInteger() < 0) {
      file.emitError(*registration) << "position must not be negative, got "
                                    << registration->getInteger();
      return failure();
    }
    attrs.set(tg::kRegistrationAttrName,
              builder.getI64IntegerAttr(registration->getInteger()));
    if (!aliases->empty())
      attrs.set(tg::kAliasesAttrName, *aliases);
    // Nothing replaces a frozen parameter, so its memory must survive the step.
    if (trained->getBoolean())
      attrs.set(tg::kDonatedAttrName, builder.getUnitAttr());
  }
  FailureOr<tg::PlacementAttr> placement =
      meshes.getPlacement(entry, cast<RankedTensorType>(type));
  if (failed(placement))
    return failure();
  if (*placement)
    attrs.set(tg::kPlacementAttrName, *placement);
  return attrs;
}

LogicalResult FxSignature::readArgument(const JsonValue &entry,
                                        tg::RoleKind role,
                                        ArrayRef<JsonValue> nodes) {
  if (failed(file.expect(entry, Kind::Object)))
    return failure();
  const JsonValue *node = file.require(entry, "node", Kind::String);
  if (!node)
    return failure();
  std::optional<size_t> number = values.lookup(node->getString());
  if (!number)
    return file.emitError(*node)
           << "unknown node \"" << node->getString() << '"';
  const JsonValue &placeholder = nodes[*number];
  if (!isPlaceholder(placeholder))
    return file.emitError(*node)
           << "node \"" << node->getString() << "\" is not a placeholder";
  unsigned index = arguments.size();
  if (!argumentOfNode.try_emplace(*number, index).second)
    return file.emitError(*node) << "node \"" << node->getString()
                                 << "\" is already another argument";

  FailureOr<ArrayRef<JsonValue>> outputs =
      file.getArray(placeholder, "outputs");
  FailureOr<Location> loc = file.getLocation(placeholder);
  if (failed(outputs) || failed(loc))
    return failure();
  if (outputs->size() != 1)
    return file.emitError(*placeholder.find("outputs"))
           << "a placeholder has one output, got " << outputs->size();
  FailureOr<Type> type = readOutputType(file, outputs->front());
  if (failed(type))
    return failure();
  if (!isa<RankedTensorType>(*type))
    return file.emitError(outputs->front()) << "a placeholder must be a tensor";
  FailureOr<NamedAttrList> attrs = readAttributes(entry, role, *type);
  if (failed(attrs))
    return failure();
  const JsonValue *name = entry.find("name");
  if (!argumentOfName.try_emplace(name->getString(), std::pair(role, index))
           .second)
    return file.emitError(*name)
           << "\"" << name->getString()
           << "\" is already the name of another argument";
  arguments.push_back(
      {*type, attrs->getDictionary(file.getContext()), *loc, number});
  return success();
}

LogicalResult FxSignature::checkPlaceholders(ArrayRef<JsonValue> nodes) {
  for (auto [index, node] : llvm::enumerate(nodes)) {
    if (file.hasTooManyErrors())
      break;
    if (isPlaceholder(node) && !argumentOfNode.contains(index))
      file.emitError(node)
          << "placeholder is no parameter, buffer or input of the step";
  }
  return failure(file.hasErrors());
}

LogicalResult FxSignature::addRandomArgument(StringRef name) {
  MLIRContext *context = file.getContext();
  if (!argumentOfName
           .try_emplace(name, std::pair(tg::RoleKind::Rng, arguments.size()))
           .second)
    return file.emitError(file.getRoot())
           << "\"" << name
           << "\" must not be the name of an argument: the graph draws random "
              "numbers, whose state has this name";
  NamedAttrList attrs;
  attrs.set(tg::kNameAttrName, StringAttr::get(context, name));
  attrs.set(tg::kRoleAttrName, tg::RoleAttr::get(context, tg::RoleKind::Rng));
  auto type = RankedTensorType::get({}, IntegerType::get(context, 64));
  arguments.push_back({type, attrs.getDictionary(context),
                       file.getFileLocation(file.getRoot().getOffset()),
                       std::nullopt});
  return success();
}

FailureOr<func::FuncOp> FxSignature::readArguments(ArrayRef<JsonValue> nodes,
                                                   OpBuilder &builder) {
  const JsonValue &root = file.getRoot();
  for (auto [field, role] :
       {std::pair<StringRef, tg::RoleKind>("parameters",
                                           tg::RoleKind::Parameter),
        std::pair<StringRef, tg::RoleKind>("buffers", tg::RoleKind::Buffer),
        std::pair<StringRef, tg::RoleKind>("inputs", tg::RoleKind::Input)}) {
    FailureOr<ArrayRef<JsonValue>> entries = file.getArray(root, field);
    if (failed(entries))
      continue;
    for (const JsonValue &entry : *entries) {
      if (file.hasTooManyErrors())
        return failure();
      (void)readArgument(entry, role, nodes);
    }
  }
  if (file.hasErrors() || failed(checkPlaceholders(nodes)))
    return failure();
  bool isRandom = FxRandom::isNeeded(nodes);
  if (isRandom && (failed(addRandomArgument(FxRandom::kSeedName)) ||
                   failed(addRandomArgument(FxRandom::kOffsetName))))
    return failure();

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    attrs.push_back(argument.attrs);
  }
  auto func = func::FuncOp::create(
      builder, file.getFileLocation(root.getOffset()), "step",
      builder.getFunctionType(types, {}), /*attrs=*/{}, attrs);
  Block *body = builder.createBlock(&func.getBody());
  for (const Argument &argument : arguments) {
    Value value = body->addArgument(argument.type, argument.loc);
    if (argument.node)
      values.define(*argument.node, value);
  }
  if (isRandom) {
    auto states = body->getArguments().take_back(2);
    random.begin(states.front(), states.back(), builder);
  }
  return func;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

FailureOr<tg::RoleAttr> FxSignature::readRole(const JsonValue &entry) {
  const JsonValue *role = file.require(entry, "role", Kind::String);
  if (!role)
    return failure();
  StringRef name = role->getString();
  MLIRContext *context = file.getContext();
  if (name == "output")
    return tg::RoleAttr();
  if (name == "loss")
    return tg::RoleAttr::get(context, tg::RoleKind::Loss);
  if (name != "gradient" && name != "update" && name != "buffer") {
    file.emitError(*role)
        << "expects role loss, gradient, update, buffer or output, got \""
        << name << '"';
    return failure();
  }
  const JsonValue *of = file.require(entry, "of", Kind::String);
  if (!of)
    return failure();
  bool isGradient = name == "gradient";
  tg::RoleKind expected =
      name == "buffer" ? tg::RoleKind::Buffer : tg::RoleKind::Parameter;
  auto it = argumentOfName.find(of->getString());
  if (it == argumentOfName.end() || it->second.first != expected) {
    file.emitError(*of) << "unknown " << tg::stringifyRoleKind(expected)
                        << " \"" << of->getString() << '"';
    return failure();
  }
  return tg::RoleAttr::get(
      context, isGradient ? tg::RoleKind::Gradient : tg::RoleKind::Update,
      it->second.second);
}

LogicalResult FxSignature::readResults(func::FuncOp func, size_t numNodes) {
  MLIRContext *context = file.getContext();
  FailureOr<ArrayRef<JsonValue>> entries =
      file.getArray(file.getRoot(), "outputs");
  if (failed(entries))
    return failure();
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attrs;
  llvm::DenseMap<tg::RoleAttr, size_t> taken;
  for (auto [index, entry] : llvm::enumerate(*entries)) {
    if (file.hasTooManyErrors())
      break;
    if (failed(file.expect(entry, Kind::Object)))
      continue;
    FailureOr<Value> value = values.resolve(entry, numNodes);
    FailureOr<tg::RoleAttr> role = readRole(entry);
    if (failed(value) || failed(role))
      continue;
    Type type = value->getType();
    const JsonValue &name = *entry.find("role");
    NamedAttrList list;
    if (*role) {
      if (auto [it, inserted] = taken.try_emplace(*role, index); !inserted)
        file.emitError(entry)
            << "outputs[" << it->second << "] has the same role";
      if (role->getKind() == tg::RoleKind::Update) {
        unsigned number = role->getArgument();
        if (type != arguments[number].type)
          file.emitError(entry)
              << "new value of "
              << (name.getString() == "buffer" ? "a buffer" : "a parameter")
              << " must have its type " << arguments[number].type << ", got "
              << type;
        // Also a frozen parameter is replaced then.
        if (name.getString() == "update")
          func.setArgAttr(number, tg::kDonatedAttrName, UnitAttr::get(context));
      }
      list.set(tg::kRoleAttrName, *role);
    }
    if (!isa<RankedTensorType>(type))
      file.emitError(entry) << "a result of the step must be a tensor";
    results.push_back(*value);
    attrs.push_back(list.getDictionary(context));
  }
  // Outputs of nodes with errors fail without a message of their own.
  if (results.size() != entries->size() || file.hasErrors())
    return failure();
  if (Value offset = random.getNextOffset()) {
    NamedAttrList list;
    list.set(tg::kRoleAttrName, tg::RoleAttr::get(context, tg::RoleKind::Update,
                                                  arguments.size() - 1));
    results.push_back(offset);
    attrs.push_back(list.getDictionary(context));
  }

  auto builder = OpBuilder::atBlockEnd(&func.getBody().front());
  func::ReturnOp::create(builder, func.getLoc(), results);
  func.setType(builder.getFunctionType(func.getArgumentTypes(),
                                       ValueRange(results).getTypes()));
  func.setAllResultAttrs(attrs);
  return success();
}
