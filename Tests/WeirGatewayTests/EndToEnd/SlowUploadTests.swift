import Foundation
import Glibc
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Clients whose bodies dribble in don't keep others from the upstream.
@Suite(.slow, .serialized) struct SlowUploadTests {
  /// More than an upstream has slots.
  private static let crowd = 560

  /// A body of up to 64 KiB takes its slot when all of it is there.
  @Test func smallBodiesThatDribbleTakeNoSlot() throws {
    DescriptorLimit.raise()
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let slow = try (0..<Self.crowd).map { _ in
      let client = try rig.client()
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx")
      return client
    }
    #expect(eventually { rig.active("POST") == Double(Self.crowd) })
    let began = MonotonicTime.now
    let good = try rig.client()
    good.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(good.response()?.text == "ok")
    #expect(MonotonicTime.now.seconds(since: began) < 15)
    #expect(upstream.connectionCount == 1)
    withExtendedLifetime(slow) {}
  }

  /// Of larger ones, as many as half of the slots are let through; the others hear at once that it is too much.
  @Test func largeBodiesThatDribbleTakeHalfOfTheSlots() throws {
    DescriptorLimit.raise()
    let upstream = try ScriptedServer(.answering(with: { okResponse("ok") }))
    let rig = try GatewayRig(Route(to: upstream.port))
    let piece = String(repeating: "x", count: 70_000)
    let slow = try (0..<Self.crowd).map { _ in
      let client = try rig.client()
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + piece)
      return client
    }
    #expect(eventually { rig.count("rejected") == Double(Self.crowd - 256) })
    let began = MonotonicTime.now
    let good = try rig.client()
    good.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(good.response()?.text == "ok")
    #expect(MonotonicTime.now.seconds(since: began) < 15)
    let last = try #require(slow.last?.response())
    #expect(last.status == 503)
    #expect(last.text == "too many large requests are arriving for the upstream\n")
  }

  /// Also where the upstream has had the beginning of it: that one waits as the gateway does, and is not to blame.
  @Test func aLargeBodyThatStopsIsA408() throws {
    let upstream = try ScriptedServer(Script(.head, .swallow(1_000_000)))
    var route = try Route(to: upstream.port)
    route.circuitBreaker = CircuitBreaker(minimumRequests: 1)
    route.timeout = .seconds(2)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + String(repeating: "x", count: 100_000))
    let response = try #require(client.response())
    #expect(response.status == 408)
    #expect(response.values("Connection") == ["close"])
    #expect(eventually { rig.count("body_timeout") == 1 })
    #expect(rig.count("timeout") == 0)
    let upstreamLabels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    func settled(_ outcome: String) -> Double? {
      rig.sample(
        "weir_requests_total{\(upstreamLabels),http_request_method=\"POST\",outcome=\"\(outcome)\"}")
    }
    #expect(eventually { settled("cancelled") == 1 })
    #expect(settled("timeout") == 0)
    #expect(rig.sample("weir_requests_failed_total{\(upstreamLabels)}") == 0)
    #expect(rig.sample("weir_circuit_state{\(upstreamLabels),state=\"closed\"}") == 1)
    #expect(!rig.registry.text().contains("error_type=\"timed_out\""))
  }

  /// An upstream that takes nothing of a large body is at fault for all that.
  @Test func anUpstreamThatDoesNotReadIsA504() throws {
    let gate = Gate()
    let upstream = try ScriptedServer(Script(.head, .wait(gate)))
    var route = try Route(to: upstream.port)
    // Long enough for what the sockets' buffers take.
    route.timeout = .seconds(3)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    let size = 64 << 20
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n")
    let send = client.sender
    let sent = Gate()
    Thread.detachNewThread {
      _ = send([UInt8](repeating: 0x78, count: size))
      sent.open()
    }
    let response = try #require(client.response())
    #expect(response.status == 504)
    let upstreamLabels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.sample("weir_requests_failed_total{\(upstreamLabels)}") == 1 })
    // Its descriptor is in use until then.
    sent.wait()
    gate.open()
    withExtendedLifetime(upstream) {}
  }

  /// The route's timeout bounds how long a body may take to come, too.
  @Test func aBodyThatDoesNotComeInTimeIsA408() throws {
    let upstream = try BlackHole()
    var route = try Route(to: upstream.port)
    route.timeout = .milliseconds(100)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx")
    let response = try #require(client.response())
    #expect(response.status == 408)
    #expect(response.text == "the request's body did not arrive in time\n")
    #expect(response.values("Connection") == ["close"])
    #expect(eventually { rig.count("body_timeout") == 1 })
    #expect(upstream.connectionCount == 0)
    #expect(eventually { rig.active("POST") == 0 })
  }

  @Test func aClientThatLeavesBeforeItsBodyIsThereReachesNobody() throws {
    let upstream = try BlackHole()
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx")
    #expect(eventually { rig.active("POST") == 1 })
    client.reset()
    #expect(eventually { rig.count("cancelled") == 1 && rig.active("POST") == 0 })
    #expect(upstream.connectionCount == 0)
  }

  /// A body in chunks and one of exactly the buffer's size arrive whole, and a large one begins before it has ended.
  @Test(arguments: [1, 65_535, 65_536, 65_537, 200_000])
  func bodiesArriveWhole(size: Int) throws {
    let upstream = try ScriptedServer(
      Script(.request, .send(okResponse("a")), .head, .chunkedBody, .send(okResponse("b"))))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    let body = String(repeating: "x", count: size)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n" + body)
    #expect(client.response()?.text == "a")
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.send("\(String(size, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
    #expect(client.response()?.text == "b")
  }
}

extension GatewayRig {
  /// Requests of a method that are under way.
  fileprivate func active(_ method: String) -> Double? {
    sample("http_server_active_requests{http_request_method=\"\(method)\",url_scheme=\"http\"}")
  }
}
