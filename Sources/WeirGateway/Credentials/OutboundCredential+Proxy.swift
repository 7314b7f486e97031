import Synchronization
import Weir
import WeirCurl

// A proxy on the way gets the credential with each tunnel and each request that it takes.
extension OutboundCredential: ProxyCredential {
  var authorization: [UInt8]? {
    let stamp = stamp
    return proxyValue.withLock { known in
      if known.stamp != stamp {
        let value = value()
        known = (stamp, value.version > 0 ? value.octets : nil)
      }
      return known.octets
    }
  }

  var userAndPassword: TransferCredential? {
    guard case .basic(let user, let password) = settings.kind else { return nil }
    return TransferCredential(user: user, password: password.value)
  }

  func redacted(_ text: String) -> String {
    var redaction = SecretRedaction()
    switch settings.kind {
    case .basic(let user, let password): redaction.add(user: Array(user.utf8), password: password.octets)
    case .bearer(let secret), .field(_, let secret): redaction.add(secret.octets)
    case .oauth2: redaction.add(Array(value().octets.trimmingPrefix("Bearer ".utf8)))
    }
    return redaction.text(text)
  }
}
