// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "swift-openapi-runtime",
  products: [.library(name: "OpenAPIRuntime", targets: ["OpenAPIRuntime"])],
  dependencies: [.package(url: "https://github.com/apple/swift-http-types.git", from: "1.0.0")],
  targets: [.target(name: "OpenAPIRuntime", dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")])]
)
