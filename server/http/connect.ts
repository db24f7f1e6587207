import { readMediaRanges } from '@drawbridge/shared/media-range.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Endpoint, type EndpointHandler, wrapHandlers } from './endpoint.ts'
import type { PublicUrls } from './public-urls.ts'
import { helpPage } from './pages/help-page.ts'
import { type ConnectView, connectPage, connectPolicy } from './pages/connect-page.ts'
import type { AppView } from './pages/layout.ts'
import type { Language } from '../texts/language.ts'
import type { Languages } from '../texts/languages.ts'
import { page, pageLanguage } from './response.ts'

const helpPath = '/help'

/** Shows the connect page, which is the same for everyone who reads the same language. */
export function createConnectHandler(
  urls: PublicUrls,
  app: AppView,
  {
    languages,
    permissions,
    publicTools,
    connectionsPath,
  }: Pick<ConnectView, 'connectionsPath' | 'publicTools'> & {
    languages: Languages
    permissions: (language: Language) => readonly string[]
  },
): EndpointHandler {
  const view = {
    ...app,
    connectionsPath,
    publicTools,
    helpPath: `${urls.basePath}${helpPath}`,
    url: urls.resource,
    challenging: urls.challenging,
    isLocal: isLoopbackHostname(new URL(urls.resource).hostname),
  }
  const headers = { 'content-security-policy': connectPolicy(app.look) }
  return (request) => {
    const language = pageLanguage(request, languages)
    const shown = { ...view, language, permissions: permissions(language) }
    return page(connectPage(shown), shown, 200, headers)
  }
}

/** Serves the page for people whose client does not connect. */
export function createHelpEndpoint(urls: PublicUrls, app: AppView, languages: Languages): Endpoint {
  const view = {
    ...app,
    url: urls.resource,
    isLocal: isLoopbackHostname(new URL(urls.resource).hostname),
    startUrl: `${urls.issuer}/`,
  }
  const show: EndpointHandler = (request) => {
    const shown = { ...view, language: pageLanguage(request, languages) }
    return page(helpPage(shown), shown)
  }
  return { path: `${urls.basePath}${helpPath}`, cors: 'none', methods: { GET: show } }
}

/** Serves the base URL itself, which users open in a browser. */
export function createConnectEndpoint(basePath: string, show: EndpointHandler): Endpoint {
  return { path: basePath === '' ? '/' : basePath, cors: 'none', methods: { GET: show } }
}

/**
 * Wraps `endpoint` to call `show` for users who open its address in a browser. Passes every other request, so that programs notice
 * nothing. Pages of other sites may not read the response.
 */
export function withConnectPage(endpoint: Endpoint, show: EndpointHandler): Endpoint {
  const { cors } = endpoint
  const inFront = (handler: EndpointHandler): EndpointHandler => {
    return (request, context) => (isPageNavigation(request) ? show : handler)(request, context)
  }
  return {
    ...wrapHandlers(endpoint, inFront),
    cors:
      cors === 'none' ? cors : (request) => (isPageNavigation(request) ? { kind: 'none' } : cors(request)),
  }
}

/**
 * Returns whether a browser navigates to a page. Browsers say so in `Sec-Fetch-Mode`, over https and on this computer; elsewhere
 * the request must prefer HTML to what MCP clients accept.
 */
function isPageNavigation(request: Request): boolean {
  if (request.method !== 'GET') return false
  const mode = request.headers.get('sec-fetch-mode')
  return mode === null ? prefersHtml(request.headers.get('accept')) : mode === 'navigate'
}

/** Returns whether an `Accept` names HTML and ranks it before JSON and event streams. Of wildcards, only that for everything counts. */
function prefersHtml(accept: string | null): boolean {
  const ranges = readMediaRanges(accept)
  const weight = (type: string): number => ranges.get(type) ?? 0
  const wanted = weight('text/html')
  return (
    wanted > 0 &&
    wanted >= weight('*/*') &&
    wanted > Math.max(weight('application/json'), weight('text/event-stream'))
  )
}
