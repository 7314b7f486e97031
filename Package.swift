// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
]

/// A C library's interface, as a module map and the few shims its header needs.
func system(_ name: String) -> Target {
  .target(name: name, path: "Sources/\(name)")
}

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["WeirTestSupport"], exclude: exclude, swiftSettings: settings)
}

/// Tests that are compiled in Swift 5's language mode, which the library's users may still use.
func swift5Tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["WeirTestSupport"], swiftSettings: [.swiftLanguageMode(.v5)])
}

/// A program that script/fuzz runs under libFuzzer.
func fuzzTarget(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Tests/Fuzz/\(name)", swiftSettings: settings)
}

let package = Package(
  name: "weir",
  products: [
    .library(name: "Weir", targets: ["Weir"]),
    .library(name: "WeirMetrics", targets: ["WeirMetrics"]),
    .library(name: "WeirExporter", targets: ["WeirExporter"]),
    .library(name: "WeirExporterTLS", targets: ["WeirExporterTLS"]),
    .library(name: "WeirAlamofire", targets: ["WeirAlamofire"]),
    .executable(name: "weir", targets: ["WeirCommand"]),
  ],
  targets: [
    system("CLinux"), system("CCurl"), system("CZlib"), system("CYaml"), system("CCrypt"),
    system("CAres"), system("CRevision"), system("CTLS"),

    module("WeirIO", ["CLinux"]),
    module("WeirResolver", ["CAres", "WeirIO"]),
    module("WeirTLS", ["CTLS", "WeirIO"]),
    module("WeirHTTP"),
    module("WeirCompression", ["CZlib", "WeirHTTP"]),
    module("WeirCurl", ["CCurl", "CLinux", "WeirHTTP", "WeirIO"]),
    module("WeirHTTP1", ["WeirCurl", "WeirHTTP", "WeirIO"]),
    module("WeirTransport", ["WeirCurl", "WeirHTTP", "WeirHTTP1", "WeirIO"]),
    module("Weir", ["WeirIO", "WeirHTTP", "WeirCurl", "WeirCompression", "WeirTransport"]),
    module("WeirMetrics"),
    module("WeirOTLP", ["WeirMetrics"]),
    module("WeirServer", ["CLinux", "WeirIO", "WeirHTTP"]),
    module(
      "WeirExporter",
      [
        "CCrypt", "CRevision", "Weir", "WeirCompression", "WeirCurl", "WeirHTTP", "WeirIO", "WeirMetrics", "WeirOTLP",
        "WeirServer", "WeirTransport",
      ]),
    module("WeirExporterTLS", ["WeirExporter", "WeirIO", "WeirServer", "WeirTLS"]),
    module(
      "WeirGateway",
      [
        "CLinux", "CYaml", "Weir", "WeirCompression", "WeirCurl", "WeirHTTP", "WeirIO", "WeirExporter",
        "WeirExporterTLS", "WeirMetrics", "WeirOTLP", "WeirResolver", "WeirServer", "WeirTLS", "WeirTransport",
      ]),
    module("WeirAlamofire", ["Weir"]),
    .executableTarget(name: "WeirCommand", dependencies: ["WeirGateway"], swiftSettings: settings),

    .executableTarget(
      name: "MeasureDecisions", dependencies: ["WeirGateway", "WeirIO", "WeirServer", "WeirTransport"],
      path: "Tests/MeasureDecisions", swiftSettings: settings),
    .target(name: "CThreadSanitizer", path: "Tests/CThreadSanitizer"),
    .target(name: "CSlowResolver", path: "Tests/CSlowResolver"),
    .target(name: "CDescriptors", path: "Tests/CDescriptors"),
    .target(
      name: "WeirTestSupport",
      dependencies: ["WeirCompression", "WeirCurl", "WeirIO", "CLinux", "CThreadSanitizer", "CDescriptors"],
      path: "Tests/WeirTestSupport", swiftSettings: settings),
    .target(
      name: "FuzzSupport", dependencies: ["CLinux", "WeirIO"], path: "Tests/Fuzz/FuzzSupport", swiftSettings: settings),
    fuzzTarget("FuzzContentDecoder", ["FuzzSupport", "WeirCompression"]),
    fuzzTarget("FuzzAccept", ["FuzzSupport", "WeirExporter", "WeirHTTP", "WeirMetrics"]),
    fuzzTarget("FuzzCollectorResponse", ["FuzzSupport", "WeirMetrics", "WeirOTLP"]),
    fuzzTarget("FuzzRequestParser", ["FuzzSupport", "WeirServer"]),
    fuzzTarget("FuzzProxyHeader", ["FuzzSupport", "WeirIO", "WeirServer"]),
    fuzzTarget("FuzzHTTP1", ["FuzzSupport", "WeirHTTP1", "WeirHTTP", "WeirTransport"]),
    fuzzTarget("FuzzResponse", ["CLinux", "FuzzSupport", "Weir", "WeirIO"]),
    fuzzTarget("FuzzGateway", ["CLinux", "FuzzSupport", "WeirExporter", "WeirGateway", "WeirIO", "WeirMetrics"]),

    tests("WeirIOTests", ["WeirIO"]),
    tests("WeirResolverTests", ["WeirResolver", "WeirIO"]),
    tests("WeirTLSTests", ["WeirTLS", "WeirIO", "CLinux", "CTLS"]),
    tests("WeirHTTPTests", ["WeirHTTP"]),
    tests("WeirCompressionTests", ["WeirCompression"]),
    tests("WeirCurlTests", ["WeirCurl", "WeirHTTP", "WeirHTTP1", "WeirIO", "WeirTransport", "CSlowResolver"]),
    tests("WeirHTTP1Tests", ["WeirHTTP1", "WeirCurl", "WeirHTTP", "WeirIO"]),
    tests(
      "WeirTransportTests", ["WeirTransport", "WeirCurl", "WeirHTTP", "WeirIO"], exclude: ["Engines/Recorded"]),
    tests("WeirTests", ["Weir", "WeirCompression", "WeirCurl", "WeirHTTP", "WeirIO", "WeirTransport"]),
    swift5Tests("WeirSwift5Tests", ["Weir", "WeirAlamofire", "WeirMetrics"]),
    tests("WeirMetricsTests", ["WeirMetrics"]),
    tests("WeirOTLPTests", ["WeirOTLP", "WeirMetrics"]),
    tests("WeirServerTests", ["WeirServer", "WeirHTTP", "WeirIO"]),
    tests(
      "WeirExporterTests",
      [
        "WeirExporter", "Weir", "WeirCompression", "WeirCurl", "WeirMetrics", "WeirOTLP", "WeirServer", "WeirIO",
        "WeirTransport",
      ]),
    tests("WeirExporterTLSTests", ["WeirExporterTLS", "WeirExporter", "WeirTLS"]),
    tests(
      "WeirGatewayTests",
      [
        "WeirGateway", "Weir", "WeirCompression", "WeirCurl", "WeirExporter", "WeirHTTP", "WeirMetrics", "WeirOTLP",
        "WeirResolver", "WeirServer", "WeirIO", "WeirTLS", "WeirTransport",
      ]),
    tests(
      "EndToEndTests",
      ["Weir", "WeirAlamofire", "WeirCurl", "WeirExporter", "WeirMetrics", "WeirGateway", "WeirServer", "WeirIO"],
      exclude: ["Recorded/Files"]),
  ],
  swiftLanguageModes: [.v6]
)
