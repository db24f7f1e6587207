import { pageContentSecurityPolicy } from './pages/layout.ts'

const noStore = { 'cache-control': 'no-store' }

/** An uncacheable JSON response. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...noStore, ...headers },
  })
}

/** An HTML page: never cached or framed, and it loads nothing. */
export function page(html: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pageContentSecurityPolicy,
      'x-frame-options': 'DENY',
      // Keeps Origin on our own form posts, which `no-referrer` would remove, and sends nothing to other sites.
      'referrer-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      ...noStore,
      ...headers,
    },
  })
}

/** Redirects the browser with a GET, whatever the method was. */
export function redirect(location: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { location, 'referrer-policy': 'no-referrer', ...noStore, ...headers },
  })
}
