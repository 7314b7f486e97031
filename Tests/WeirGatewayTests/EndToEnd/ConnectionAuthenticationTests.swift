import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

/// NTLM and Negotiate authenticate a connection, not a request: what the next client sends on it would be taken for the
/// first one's.
@Suite(.serialized) struct ConnectionAuthenticationTests {
  @Test(arguments: [
    ("Authorization: NTLM TlRMTVNTUAAB", 2), ("authorization:negotiate YII", 2), ("Authorization: Negotiate", 2),
    ("Authorization: Bearer NTLM", 1), ("Authorization: NTLMx y", 1), ("X-Authorization: NTLM x", 1),
  ])
  func aRequestThatAuthenticatesItsConnectionIsItsLast(field: String, connections: Int) throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    try get(rig, field, status: 200)
    try get(rig, "Accept: */*", status: 200)
    #expect(upstream.connectionCount == connections)
  }

  @Test(arguments: [
    ("WWW-Authenticate:\r\n NTLM abc", 2), ("WWW-Authenticate: Basic realm=x,\r\n\tNegotiate abc", 2),
    ("WWW-Authenticate: NTLM", 2), ("WWW-Authenticate: Basic realm=x, negotiate", 2),
    ("WWW-Authenticate: Basic realm=x\r\nwww-authenticate: NTLM TlRMTVNTUAAC", 2),
    ("WWW-Authenticate: Basic realm=\"x, NTLM\"", 1), ("WWW-Authenticate: Bearer", 1), ("Server: NTLM", 1),
  ])
  func aResponseThatAsksForItIsItsConnectionsLast(fields: String, connections: Int) throws {
    let answer = "HTTP/1.1 401 No\r\n\(fields)\r\nContent-Length: 2\r\n\r\nno"
    let upstream = try ScriptedServer(.answering(answer))
    let rig = try GatewayRig(Route(to: upstream.port))
    try get(rig, "Accept: */*", status: 401)
    try get(rig, "Accept: */*", status: 401)
    #expect(upstream.connectionCount == connections)
  }

  private func get(_ rig: GatewayRig, _ field: String, status: Int) throws {
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
    #expect(client.response()?.status == status)
  }
}
