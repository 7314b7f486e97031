// Who imports Weir gets the types its signatures speak of: URLRequest, HTTPURLResponse, URLError, Data, URL.
@_exported public import Foundation
@_exported public import FoundationNetworking
