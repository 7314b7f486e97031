import CRevision
import Weir
public import WeirMetrics

/// The versions of the running program, shown as `weir_build_info`, whose value is 1.
public struct BuildInfo: Sendable, Equatable {
  /// The version of weir.
  public var version: String
  /// The commit of the build, abbreviated, with `-dirty` for changed sources. `script/build` writes it beside the sources.
  /// If that script was never run on them, the revision is `unknown`.
  public var revision: String
  /// The version of libcurl that the process has loaded.
  public var libcurl: String
  /// The version of the compiler.
  public var swift: String

  /// This build.
  public static var current: BuildInfo {
    BuildInfo(
      version: WeirInfo.version, revision: String(cString: weir_revision()), libcurl: WeirInfo.libcurlVersion,
      swift: compiler)
  }

  /// Makes an info with versions that the program chooses; ``current`` has this build's.
  public init(version: String, revision: String = "unknown", libcurl: String, swift: String) {
    self.version = version
    self.revision = revision
    self.libcurl = libcurl
    self.swift = swift
  }

  /// Adds the metric. Adding an equal one again changes nothing.
  public func register(in registry: Registry) throws(RegistryError) {
    try registry.info(
      "weir_build_info", help: "What runs: version and commit of weir, versions of libcurl and of the Swift compiler.",
      labels: ["version": version, "revision": revision, "libcurl": libcurl, "swift": swift])
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
