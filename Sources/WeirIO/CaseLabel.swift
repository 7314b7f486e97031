/// The name of an enumeration's case in snake case, fit for a metric: `cannot_find_host` for `.cannotFindHost`.
///
/// A capital begins a word when the letter before it or behind it is small: `.createURLRequestFailed` becomes
/// `create_url_request_failed`. A case without a payload is found by its description, so its type must have none of its
/// own.
package func caseLabel(_ value: Any) -> String {
  let name = Array(Mirror(reflecting: value).children.first?.label ?? "\(value)")
  var label = ""
  for (index, letter) in name.enumerated() {
    let neighbours = name[max(index - 1, 0)...min(index + 1, name.count - 1)]
    if index > 0, letter.isUppercase, neighbours.contains(where: \.isLowercase) { label += "_" }
    label += letter.lowercased()
  }
  return label
}
