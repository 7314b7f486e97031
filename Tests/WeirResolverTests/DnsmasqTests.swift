import Testing
import WeirIO
import WeirResolver
import WeirTestSupport

/// Lookups against a name server that others use.
@Suite struct DnsmasqTests {
  @Test func addressesAndServices() async throws {
    let dnsmasq = try await DnsmasqServer(
      [
        "--host-record=both.test,10.1.0.1,2001:db8::1,300", "--host-record=four.test,10.1.0.2,77",
        "--cname=alias.test,four.test,9", "--srv-host=_http._tcp.test,both.test,8080,10,5",
        "--srv-host=_http._tcp.test,four.test,8081,20,0", "--srv-host=_none._tcp.test",
      ] + (1...100).map { "--host-record=many.test,10.2.0.\($0),60" })
    let host = try ResolverHost(servers: ResolverServers(parsing: [dnsmasq.server]))
    #expect(await host.lookUp("both.test").text == "10.1.0.1 2001:db8::1 ttl=300")
    #expect(await host.lookUp("both.test", .ipv6).text == "2001:db8::1 ttl=300")
    #expect(await host.lookUp("four.test").text == "10.1.0.2 ttl=77")
    #expect(await host.lookUp("four.test", .ipv6).text == "no_addresses")
    #expect(await host.lookUp("alias.test", .ipv4).text == "10.1.0.2 ttl=9")
    #expect(await host.lookUp("gone.test").text == "no_such_name")
    #expect(await host.lookUp("example.org").text == "refused")
    // The answer is too long for a datagram.
    let many = try await host.lookUp("many.test", .ipv4).get()
    #expect(many.entries.map { "\($0.address)" } == (1...100).map { "10.2.0.\($0)" })
    #expect(
      await host.lookUp(.services(of: "_http._tcp.test")).text
        == "10.1.0.1:8080/0/5/both.test 10.1.0.2:8081/1/1/four.test [2001:db8::1]:8080/0/5/both.test")
    #expect(await host.lookUp(.services(of: "_none._tcp.test")).text == "no_addresses")
    #expect(await host.lookUp(.services(of: "_gone._tcp.test")).text == "no_such_name")
  }

  @Test func manyNamesAtOnce() async throws {
    let dnsmasq = try await DnsmasqServer((1...250).map { "--host-record=n\($0).test,10.3.0.\($0),60" })
    let host = try ResolverHost(servers: ResolverServers(parsing: [dnsmasq.server]))
    let outcomes = await withTaskGroup(of: (Int, Outcome).self) { group in
      for number in 1...250 {
        group.addTask { (number, await host.lookUp("n\(number).test", .ipv4)) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1.text }
    }
    #expect(outcomes == Dictionary(uniqueKeysWithValues: (1...250).map { ($0, "10.3.0.\($0) ttl=60") }))
  }

  @Test func stoppedServerIsAProblem() async throws {
    let host: ResolverHost
    do {
      let dnsmasq = try await DnsmasqServer(["--host-record=a.test,10.1.0.1,60"])
      host = try ResolverHost(servers: ResolverServers(parsing: [dnsmasq.server]))
      #expect(await host.lookUp("a.test").text == "10.1.0.1 ttl=60")
    }
    // Of two questions at once, one's datagram can take the error that the other's waits for.
    #expect(await host.lookUp("a.test", .ipv4) == .failure(.other("no name server can be reached")))
  }
}
