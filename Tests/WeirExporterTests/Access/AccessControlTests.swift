import Testing
import WeirMetrics

@testable import WeirExporter

/// Hashes made by libxcrypt's other callers (Python's crypt), and the vectors of crypt_blowfish.
enum Sample {
  static let secret = "$2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW"
  static let slower = "$2y$06$CCCCCCCCCCCCCCCCCCCCC.AznMKDrF3UVhFdHxWMKaEfFQjY2htq."
}

@Suite struct AccessControlTests {
  @Test(
    arguments: [
      (AccessControl(), "names no user and no token, so nobody could see a page; leave it nil to let everybody in"),
      (AccessControl(users: ["": Sample.secret]), "a user's name must not be empty"),
      (AccessControl(users: ["a:b": Sample.secret]), "a user's name must not hold a colon"),
      (AccessControl(users: ["a\n": Sample.secret]), "a user's name must not hold control characters"),
      (
        AccessControl(users: ["a": "secret"]),
        "user \"a\": a password is given as its bcrypt hash, 60 characters that begin with $2y$, $2b$ or $2a$: "
          + "htpasswd -nBC 10 NAME"
      ),
      (
        AccessControl(users: ["a": Sample.secret.replacing("$04$", with: "$16$")]),
        "user \"a\": a bcrypt cost of 16 won't do; give 4 to 15"
      ),
      (
        AccessControl(bearerTokens: ["a b"]),
        "a token must be letters, digits and -._~+/, with = only at its end (RFC 6750 section 2.1)"
      ),
      (
        AccessControl(bearerTokens: [""]),
        "a token must be letters, digits and -._~+/, with = only at its end (RFC 6750 section 2.1)"
      ),
    ])
  func mistakesAreTold(access: AccessControl, text: String) throws {
    var options = Exporter.Options()
    options.access = access
    let error = try #require(throws: ExporterError.self) { _ = try Exporter(options: options) }
    #expect(error.code == .invalidAccess)
    #expect(error.description == "Options.access: " + text)
  }

  @Test(arguments: [
    "", "$2b$04$", "$2x$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW",
    "$1b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW",
    "$2b$4x$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW",
    "$2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFI!W",
    "$2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW\n", "$5$rounds=5000$abc$def",
    String(repeating: "ä", count: 30),
  ])
  func whatIsNoHash(text: String) {
    #expect(throws: BcryptHash.Problem.notBcrypt) { try BcryptHash(text) }
  }

  @Test(arguments: [
    ("secret", Sample.secret, true), ("secret", Sample.secret.replacing("$2b", with: "$2y"), true),
    ("secret", Sample.slower, true), ("Secret", Sample.secret, false), ("", Sample.secret, false),
    ("secret\u{0}x", Sample.secret, false), ("secret\u{0}", Sample.secret, false),
    ("", "$2b$04$gEiV0VYOUAZpSRDmS8OkpuB3xJLUR4vBshgHVFZqjrFWcatG8r7ZC", true),
    ("pässwörd:mit:ä", "$2b$04$wwHcRblLaB0wNXEcPPMNDuMNz2waQc0w7YL/Oc4IxBA5NF22CQLIm", true),
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", true),
    ("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", true),
    ("U*U*", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", false),
  ])
  func passwordsAndTheirHashes(password: String, hash: String, isRight: Bool) throws {
    #expect(try BcryptHash(hash).matches(Array(password.utf8)) == isRight)
  }

  @Test(
    arguments: [
      ("Basic dXNlcjpwYXNz", .basic(name: "user", password: "pass")),
      ("bAsIc   dXNlcjpwYXNz", .basic(name: "user", password: "pass")),
      ("Basic dXNlcjpwYTpzcw==", .basic(name: "user", password: "pa:ss")),
      ("Basic Og==", .basic(name: "", password: "")),
      ("Bearer abc-._~+/==", .bearer("abc-._~+/==")), ("bearer x", .bearer("x")),
      ("Basic dXNlcg==", nil), ("Basic dXNlcjpwYXNz=", nil), ("Basic dXNlcjpw YXNz", nil), ("Basic", nil),
      ("Basic ", nil),
      ("", nil), ("Bearer a b", nil), ("Bearer =", nil), ("Bearer ä", nil), ("Digest username=a", nil),
      ("Basic dXNlcjpwYXNz, Basic dXNlcjpwYXNz", nil),
    ] as [(String, Expected?)])
  func whatTheFieldSays(field: String, expected: Expected?) {
    #expect(Credentials(authorization: field) == expected?.credentials)
  }

  enum Expected: Sendable {
    case basic(name: String, password: String)
    case bearer(String)

    var credentials: Credentials {
      switch self {
      case .basic(let name, let password): .basic(name: Array(name.utf8), password: Array(password.utf8))
      case .bearer(let token): .bearer(token: Array(token.utf8))
      }
    }
  }

  @Test func tokensAreComparedWhole() throws {
    let rules = try AccessRules(AccessControl(bearerTokens: ["first", "second="]))
    for token in ["first", "second="] { #expect(rules.accepts(token: Array(token.utf8))) }
    for token in ["", "firs", "firstt", "First", "second", "second=="] {
      #expect(!rules.accepts(token: Array(token.utf8)), "\(token)")
    }
  }

  @Test func digestsAreBoundedAndTellNamesAndPasswordsApart() {
    var digests = CredentialDigests(limit: 2)
    let all = [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", "")].map {
      digests.digest(name: Array($0.0.utf8), password: Array($0.1.utf8))
    }
    #expect(Set(all).count == 4)
    for digest in all[...2] { digests.insert(digest) }
    digests.insert(all[2])
    #expect(digests.count == 2)
    #expect(all.map(digests.contains) == [false, true, true, false])
    let other = CredentialDigests(limit: 2)
    #expect(other.digest(name: [1], password: [2]) != digests.digest(name: [1], password: [2]), "each has its key")
  }

  @Test func sameRulesAreNoChange() throws {
    let access = AccessControl(users: ["a": Sample.secret, "b": Sample.slower], bearerTokens: ["x", "y", "z"])
    let policy = AccessPolicy(try AccessRules(access))
    policy.set(try AccessRules(access))
    #expect(policy.rules(since: 0) == nil, "passwords that were right stay remembered")
    let others: [AccessControl?] = [
      AccessControl(users: ["a": Sample.slower, "b": Sample.slower], bearerTokens: access.bearerTokens),
      AccessControl(users: ["a": Sample.secret], bearerTokens: access.bearerTokens),
      AccessControl(users: access.users, bearerTokens: ["x", "y"]), nil, access,
    ]
    var version = 0
    for other in others {
      for _ in 0..<2 { policy.set(try other.map(AccessRules.init)) }
      let changed = try #require(policy.rules(since: version))
      #expect(changed.version == version + 1)
      version = changed.version
    }
  }

  /// Two spellings that are equal as texts and not as bytes.
  @Test func namesAreBytes() throws {
    let policy = AccessPolicy(try AccessRules(AccessControl(users: ["\u{e9}": Sample.secret])))
    policy.set(try AccessRules(AccessControl(users: ["e\u{301}": Sample.secret])))
    #expect(policy.rules(since: 0) != nil)
  }

  @Test func nothingPrintsSecrets() throws {
    var options = Exporter.Options()
    options.access = AccessControl(users: ["alice": Sample.secret], bearerTokens: ["t0ken", "t1ken"])
    let access = try #require(options.access)
    let exporter = try Exporter(listenAddress: "127.0.0.1:0", options: options)
    var texts = ["\(access)", String(reflecting: access), "\(options)", String(reflecting: options), "\(exporter)"]
    for value in [access, options, exporter, try AccessRules(access)] as [Any] {
      var text = ""
      dump(value, to: &text)
      texts.append(text)
    }
    #expect(texts[0] == "AccessControl(users: 1, bearerTokens: 2)")
    for text in texts {
      #expect(!text.contains("t0ken") && !text.contains("$2b$") && !text.contains("alice"), "\(text)")
    }
  }

  @Test(arguments: [
    ([:], false), (["a": Sample.secret], false), (["a": Sample.secret, "b": Sample.secret], false),
    (["a": Sample.secret, "b": Sample.slower], true), (["a": Sample.secret, "b": "no hash"], false),
  ])
  func mixedCosts(users: [String: String], expected: Bool) {
    #expect(AccessControl(users: users).hasMixedCosts == expected)
  }
}
