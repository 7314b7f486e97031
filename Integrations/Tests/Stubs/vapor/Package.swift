// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "vapor",
  products: [.library(name: "Vapor", targets: ["Vapor"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-service-context.git", from: "1.1.0"),
  ],
  targets: [
    .target(
      name: "Vapor",
      dependencies: [
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceContextModule", package: "swift-service-context"),
      ])
  ]
)
