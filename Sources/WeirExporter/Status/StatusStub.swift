enum StatusPage {
  static func html(_ r: StatusReport) -> [UInt8] { Array("\(r)".utf8) }; static let securityPolicy = ""
}
enum StatusJSON { static func bytes(_ r: StatusReport) -> [UInt8] { Array("\(r)".utf8) } }
