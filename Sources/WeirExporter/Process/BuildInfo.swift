import Weir
public import WeirMetrics

/// The versions of the running program, shown as `weir_build_info`, whose value is 1.
public struct BuildInfo: Sendable, Equatable {
  /// The version of weir.
  public var version: String
  /// The version of libcurl that the process has loaded.
  public var libcurl: String
  /// The version of the compiler.
  public var swift: String

  /// This build.
  public static var current: BuildInfo {
    BuildInfo(version: WeirInfo.version, libcurl: WeirInfo.libcurlVersion, swift: compiler)
  }

  /// Makes an info with versions that the program chooses; ``current`` has this build's.
  public init(version: String, libcurl: String, swift: String) {
    self.version = version
    self.libcurl = libcurl
    self.swift = swift
  }

  /// Adds the metric. Adding an equal one again changes nothing.
  public func register(in registry: Registry) throws(RegistryError) {
    try registry.info(
      "weir_build_info", help: "What runs: versions of weir, of libcurl, and of the Swift compiler.",
      labels: ["version": version, "libcurl": libcurl, "swift": swift])
  }

  /// The version of the compiler. It can be asked only whether it is at least some version.
  private static var compiler: String {
    #if compiler(>=6.5)
      "6.5+"
    #elseif compiler(>=6.4)
      "6.4"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
