import Testing

@testable import WeirExporter

@Suite struct QueryItemsTests {
  @Test(
    arguments: [
      ("", []),
      ("name[]=up", ["up"]),
      ("name%5B%5D=up", ["up"]),
      ("name%5b%5d=up", ["up"]),
      ("name[]=a&name[]=b&other=c", ["a", "b"]),
      ("name[]=a+b%2Bc", ["a b+c"]),
      ("name[]=", [""]),
      ("name[]", [""]),
      ("&&name[]=a&", ["a"]),
      ("name[]=a=b", ["a=b"]),
      ("name[]=%C3%A9", ["\u{e9}"]),
      ("name=up", []),
      ("%zz=1&name[]=a", ["a"]),
      ("x=%&name[]=a", ["a"]),
      // broken
      ("name[]=%", nil),
      ("name[]=%4", nil),
      ("name[]=%zz", nil),
      ("name[]=%ff", nil),
      ("name[]=a&name[]=%", nil),
    ] as [(String, [String]?)])
  func values(query: String, values: [String]?) {
    #expect((try? QueryItems(query).values(of: "name[]")) == values)
  }
}
