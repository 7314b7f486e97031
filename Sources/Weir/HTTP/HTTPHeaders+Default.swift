import WeirHTTP

extension HTTPHeaders {
  /// Accept-Encoding, Accept-Language (left out if no language is preferred) and User-Agent.
  ///
  /// Built once per process: languages and versions do not change under a running service.
  public static let `default` = makeDefault(languages: Locale.preferredLanguages)

  static func makeDefault(languages: [String]) -> HTTPHeaders {
    var headers: HTTPHeaders = [.defaultAcceptEncoding]
    if !languages.isEmpty {
      headers.add(.acceptLanguage(HTTPHeader.qualityEncoded(languages)))
    }
    headers.add(.defaultUserAgent)
    return headers
  }
}

extension HTTPHeader {
  /// `gzip, deflate`: exactly the codings that weir decodes.
  public static let defaultAcceptEncoding = acceptEncoding("gzip, deflate")

  /// The first six preferred languages, each with a quality a tenth lower than the one before.
  public static let defaultAcceptLanguage = acceptLanguage(qualityEncoded(Locale.preferredLanguages))

  /// `executable/appVersion (bundleID; build:build; OS major.minor.patch) Weir/version`.
  public static let defaultUserAgent = userAgent(
    userAgentText(
      bundle: Bundle.main.infoDictionary ?? [:], firstArgument: CommandLine.arguments.first,
      version: ProcessInfo.processInfo.operatingSystemVersion))

  static func qualityEncoded(_ languages: [String]) -> String {
    // Tenths are written as text: 1.0 - 0.1 * 3 is not 0.7 in binary.
    languages.prefix(6).enumerated()
      .map { position, language in "\(language);q=\(position == 0 ? "1.0" : "0.\(10 - position)")" }
      .joined(separator: ", ")
  }

  static func userAgentText(
    bundle: [String: Any], firstArgument: String?, version: OperatingSystemVersion
  ) -> String {
    func field(_ key: String) -> String? { bundle[key] as? String }
    let program = firstArgument.flatMap { $0.split(separator: "/").last.map(String.init) }
    let executable = field("CFBundleExecutable") ?? program ?? "Unknown"
    let appVersion = field("CFBundleShortVersionString") ?? "Unknown"
    let bundleID = field("CFBundleIdentifier") ?? "Unknown"
    let build = field("CFBundleVersion") ?? "Unknown"
    let system = "\(systemName) \(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    let text = "\(executable)/\(appVersion) (\(bundleID); build:\(build); \(system)) Weir/\(WeirInfo.version)"
    // An executable may be named anything; a line break in a header value would have every request refused.
    return FieldSyntax.isSendable(text) ? text : "Unknown/\(appVersion) Weir/\(WeirInfo.version)"
  }

  private static var systemName: String {
    #if os(Linux)
      "Linux"
    #elseif os(macOS)
      "macOS"
    #else
      "Unknown"
    #endif
  }
}
