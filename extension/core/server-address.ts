import { isSafeForTokens, isWebPage } from './site.ts'

/**
 * Reasons for rejecting an address. `not-a-url`: not an absolute http(s) URL. `not-secure`: http to another computer,
 * for the server that gets tokens. `credentials`: a user name or password in a URL.
 */
export type AddressFault = 'not-a-url' | 'not-secure' | 'credentials'

/** Returns the fault in the address of a web app or server, if any. */
export function addressFault(text: string): Exclude<AddressFault, 'not-secure'> | undefined {
  if (!isWebPage(text)) return 'not-a-url'
  const { username, password } = new URL(text)
  return username || password ? 'credentials' : undefined
}

/** Returns the fault in the address of a server that gets tokens, if any. */
export function serverAddressFault(text: string): AddressFault | undefined {
  return addressFault(text) ?? (isSafeForTokens(text) ? undefined : 'not-secure')
}

/** Removes query, fragment and final slashes of a valid address. */
export function tidyAddress(text: string): string {
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname}`.replace(/\/+$/, '')
}

/** Returns the base URL of a server from a valid address, with or without a final `/mcp`. */
export function baseUrlOf(address: string): string {
  return tidyAddress(address).replace(/\/mcp$/, '')
}

/** Fits on three lines of 320 pixels in the popup: users must not confirm an address whose end they cannot see. */
const maxShown = 80

/**
 * Returns the base URL of the MCP server that a page announces; undefined when it would be invalid in the settings,
 * or too long to be shown in full. Anyone who controls the page may have written it: display it, and use it only
 * after a click.
 */
export function announcedServer(address: string | undefined): string | undefined {
  if (address === undefined || serverAddressFault(address)) return undefined
  const baseUrl = baseUrlOf(address)
  return baseUrl.length > maxShown ? undefined : baseUrl
}
