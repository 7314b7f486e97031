// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "swift-metrics",
  products: [.library(name: "CoreMetrics", targets: ["CoreMetrics"]), .library(name: "Metrics", targets: ["Metrics"])],
  dependencies: [],
  targets: [.target(name: "CoreMetrics"), .target(name: "Metrics", dependencies: ["CoreMetrics"])]
)
