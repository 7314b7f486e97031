import Weir

/// `weir probe --module`: asks a target as the probe page does.
struct ModuleProbe {
  private let order: ProbeOrder

  init(_ options: ProbeOptions) throws {
    var configuration = ProbeConfiguration()
    if let file = options.configFile {
      configuration = try ProbeConfiguration(file: file)
    } else {
      // The one who asks chooses the target too.
      configuration.targets = options.destinationPolicy
    }
    let name = options.module ?? ProbeConfiguration.standardModule
    guard let module = configuration.modules[name] else {
      let known = configuration.modules.keys.sorted()
      let hint = suggestion(for: name, among: known).map { "did you mean \(quoted($0))?" }
      throw CommandLineError("unknown module \(quoted(name)); \(hint ?? "there are \(known.joined(separator: ", "))")")
    }
    let timeout = options.timeout / .seconds(1)
    order = ProbeOrder(
      target: options.url, moduleName: name, module: module, targets: configuration.targets,
      timeout: module.timeout.map { min($0, timeout) } ?? timeout)
  }

  func run() async throws -> ProbeDesk.Result {
    let desk = try ProbeDesk()
    return await withCheckedContinuation { continuation in
      desk.run(order) { continuation.resume(returning: $0) }
    }
  }
}
