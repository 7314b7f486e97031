// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "hummingbird",
  products: [.library(name: "Hummingbird", targets: ["Hummingbird"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.5.0"),
  ],
  targets: [
    .target(
      name: "Hummingbird",
      dependencies: [
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ])
  ]
)
