const name = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// Tabs, and all of Latin-1 that is no control character (RFC 9110 section 5.5).
const forbidden = /[^\t\x20-\x7e\x80-\xff]/

/** Whether a header may have that name (RFC 9110 section 5.1). */
export function isFieldName(text: string): boolean {
  return name.test(text)
}

/** Whether a header may have that value, each character of which is a byte. Space around it is not looked at. */
export function isFieldValue(text: string): boolean {
  return !forbidden.test(text)
}
