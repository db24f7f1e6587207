import type { HttpResponse } from './http-client.ts'

/** Headers by which protections of Cloudflare, Vercel and AWS say that they, and not the server, answered. */
const marks = ['cf-mitigated', 'x-vercel-mitigated', 'x-amzn-waf-action'] as const

type Answered = Pick<HttpResponse, 'status' | 'headers'>

/** Returns whether a protection in front of the server says that it wants a browser, whatever the status. */
export function isBrowserChallenge({ headers }: Pick<Answered, 'headers'>): boolean {
  return marks.some((name) => headers[name] !== undefined)
}

/** Returns whether a response refuses the request with a page for browsers, as firewalls do. */
export function isRefusalPage({ status, headers }: Answered): boolean {
  return status === 403 && /^text\/html\b/i.test(String(headers['content-type'] ?? ''))
}

/** Describes such a response in a sentence without its end; undefined for any other. */
export function browserWall(response: Answered): string | undefined {
  const { status } = response
  if (isBrowserChallenge(response))
    return `something in front of the server, such as a bot protection, wants a browser (HTTP ${status})`
  return isRefusalPage(response)
    ? `a web page refused the request (HTTP ${status}), as a firewall or a bot protection in front of a server does`
    : undefined
}
