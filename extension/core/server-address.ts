import { isSafeForTokens, isWebPage } from './site.ts'

/**
 * Why an address is unusable. `not-a-url`: no absolute http(s) URL. `not-secure`: http to another computer, for
 * the server that gets tokens. `credentials`: a user name or password in a URL. `too-long`: over 2048 characters.
 */
export type AddressFault = 'not-a-url' | 'not-secure' | 'credentials' | 'too-long'

/** What is wrong with the address of a web app or a server, if anything is. */
export function addressFault(text: string): Exclude<AddressFault, 'not-secure'> | undefined {
  if (text.length > 2048) return 'too-long'
  if (!isWebPage(text)) return 'not-a-url'
  const { username, password } = new URL(text)
  return username || password ? 'credentials' : undefined
}

/** What is wrong with the address of a server that gets tokens, if anything is. */
export function serverAddressFault(text: string): AddressFault | undefined {
  return addressFault(text) ?? (isSafeForTokens(text) ? undefined : 'not-secure')
}

/** An address without query, fragment and final slashes. It must be without fault. */
export function tidyAddress(text: string): string {
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname}`.replace(/\/+$/, '')
}

/** The base URL of the server at an address, with or without `/mcp` at its end. It must be without fault. */
export function baseUrlOf(address: string): string {
  return tidyAddress(address).replace(/\/mcp$/, '')
}

/** As much as the popup shows on three lines of 320 pixels: nobody is to confirm an address whose end cannot be seen. */
const maxShown = 80

/**
 * Base URL of the MCP server that a page announces; undefined when a person could not enter the address in the settings, or
 * not read it whole. Whoever controls the page may have written it: it is to be shown, and used after a click only.
 */
export function announcedServer(address: string | undefined): string | undefined {
  if (address === undefined || serverAddressFault(address)) return undefined
  const baseUrl = baseUrlOf(address)
  return baseUrl.length > maxShown ? undefined : baseUrl
}
