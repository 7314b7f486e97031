import Weir
import WeirIO

/// Fetches each credential once, for `weir check --credentials`. The lines, in the order of the credentials, say what
/// came; none holds a token or a secret.
func fetchEach(_ credentials: [CredentialSettings]) async -> [(name: String, line: String, isGood: Bool)] {
  await withTaskGroup(of: (place: Int, line: String, isGood: Bool).self) { group in
    for (place, credential) in credentials.enumerated() {
      group.addTask {
        let (line, isGood) = await fetch(credential, beside: credentials)
        return (place, line, isGood)
      }
    }
    var lines = credentials.map { (name: $0.name, line: "", isGood: false) }
    for await (place, line, isGood) in group { (lines[place].line, lines[place].isGood) = (line, isGood) }
    return lines
  }
}

private func fetch(
  _ credential: CredentialSettings, beside others: [CredentialSettings]
) async -> (line: String, isGood: Bool) {
  switch credential.kind {
  // Files of secrets were read with the configuration.
  case .field(let name, _): return ("the value of \(name) could be read", true)
  case .basic: return ("the password could be read", true)
  case .bearer: return ("the token could be read", true)
  case .oauth2(let settings, let tls, let proxy, _):
    do {
      let options = proxy.options { name in
        others.first { $0.name == name }
          .map { OutboundCredential($0, nil, CredentialEvents(monitor: nil, log: Logger(level: .error))) }
      }
      let session = Session(configuration: .tokens(tls: tls, proxy: options))
      let token = try await OAuth2Authenticator(settings).refresh(.absent, for: session)
      let seconds = token.expires.seconds(since: .now)
      let scope = token.scope.map { ", with the scope \($0)" } ?? ""
      return ("a token came, which expires in \(Int(seconds.rounded())) s\(scope)", true)
    } catch let error as OAuth2Error {
      return ("no token came (\(error.reason.rawValue)): \(error.text)", false)
    } catch {
      // The text of another error might hold what was sent.
      return ("no token came", false)
    }
  }
}
