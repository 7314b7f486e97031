// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that it sees only weir's products, as a user does.
let package = Package(
  name: "weir-benchmarks",
  dependencies: [.package(name: "weir", path: "..")],
  targets: [
    .executableTarget(
      name: "transfers",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirExporter", package: "weir"),
        .product(name: "WeirMetrics", package: "weir"),
      ]),
    .executableTarget(
      name: "bodies",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirExporter", package: "weir"),
        .product(name: "WeirMetrics", package: "weir"),
      ]),
    .executableTarget(
      name: "metrics",
      dependencies: [
        .product(name: "WeirExporter", package: "weir"),
        .product(name: "WeirMetrics", package: "weir"),
      ]),
    .executableTarget(
      name: "scale",
      dependencies: [
        .product(name: "WeirExporter", package: "weir"),
        .product(name: "WeirMetrics", package: "weir"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
