// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that weir's has no dependency. Each bridge is one file, which may also be copied.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
]

func weir(_ product: String) -> Target.Dependency { .product(name: product, package: "weir") }

let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let openAPI = Target.Dependency.product(name: "OpenAPIRuntime", package: "swift-openapi-runtime")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let vapor = Target.Dependency.product(name: "Vapor", package: "vapor")

let bridges: [Target] = [
  .target(name: "WeirSwiftMetrics", dependencies: [weir("WeirMetrics"), metrics], swiftSettings: settings),
  .target(name: "WeirSwiftLog", dependencies: [weir("Weir"), logging], swiftSettings: settings),
  .target(name: "WeirTracing", dependencies: [weir("Weir"), tracing], swiftSettings: settings),
  .target(name: "WeirOpenAPI", dependencies: [weir("Weir"), openAPI, httpTypes], swiftSettings: settings),
  .target(
    name: "WeirServiceLifecycle", dependencies: [weir("Weir"), weir("WeirExporter"), lifecycle],
    swiftSettings: settings),
]

/// A service of docs/services.md.
func service(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "\(name)Service",
    dependencies: dependencies + [
      weir("Weir"), weir("WeirExporter"), weir("WeirMetrics"), metrics, logging, tracing, lifecycle,
    ],
    path: "Services/\(name)", swiftSettings: settings)
}

let package = Package(
  name: "weir-integrations",
  products: bridges.map { .library(name: $0.name, targets: [$0.name]) },
  dependencies: [
    .package(name: "weir", path: ".."),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.0.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.0.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.5.0"),
    // For the services of the documentation alone: a package that uses a bridge doesn't fetch them.
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.0.0"),
    .package(url: "https://github.com/vapor/vapor.git", from: "4.109.0"),
  ],
  targets: bridges + [
    service(
      "Hummingbird", [hummingbird, "WeirSwiftMetrics", "WeirSwiftLog", "WeirTracing", "WeirServiceLifecycle"]),
    service("Vapor", [vapor, "WeirSwiftMetrics", "WeirSwiftLog", "WeirTracing", "WeirServiceLifecycle"]),
    service("WithoutBridges", [openAPI, httpTypes]),
    .testTarget(
      name: "IntegrationTests",
      dependencies: bridges.map { .target(name: $0.name) } + [
        weir("Weir"), weir("WeirExporter"), weir("WeirMetrics"), metrics, logging, tracing, openAPI, httpTypes,
        lifecycle,
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
