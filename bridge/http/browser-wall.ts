import type { HttpResponse } from './http-client.ts'

/** Headers that show that a protection of Cloudflare, Vercel or AWS answered, and not the server. */
const marks = ['cf-mitigated', 'x-vercel-mitigated', 'x-amzn-waf-action'] as const

type Answered = Pick<HttpResponse, 'status' | 'headers'>

/** Returns whether a protection in front of the server asks for a browser, whatever the status. */
export function isBrowserChallenge({ headers }: Pick<Answered, 'headers'>): boolean {
  return marks.some((name) => headers[name] !== undefined)
}

/**
 * Describes a response that wants a browser in a sentence without its end: one with a mark, or 403 with a page, as firewalls
 * give. Undefined for any other.
 */
export function browserWall(response: Answered): string | undefined {
  const { status } = response
  if (isBrowserChallenge(response))
    return `something in front of the server, such as a bot protection, wants a browser (HTTP ${status})`
  const isPage = /^text\/html\b/i.test(String(response.headers['content-type'] ?? ''))
  return status === 403 && isPage
    ? `a web page refused the request (HTTP ${status}), as a firewall or a bot protection in front of a server does`
    : undefined
}
