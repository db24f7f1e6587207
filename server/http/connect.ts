import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Endpoint, EndpointHandler } from './endpoint.ts'
import type { PublicUrls } from './public-urls.ts'
import { type HelpView, helpPage } from './pages/help-page.ts'
import { type ConnectView, connectPage, connectPolicy } from './pages/connect-page.ts'
import type { AppView, PageLinks } from './pages/layout.ts'
import type { Language } from '../texts/language.ts'
import type { Languages } from '../texts/languages.ts'
import { page, pageLanguage } from './response.ts'

/** Shows the connect page, which is the same for everyone who reads the same language. */
export function createConnectHandler(
  urls: PublicUrls,
  app: AppView & PageLinks,
  more: Pick<ConnectView, 'connectionsPath'> & {
    languages: Languages
    permissions: (language: Language) => readonly string[]
    publicTools: () => ReadonlySet<string>
  },
): EndpointHandler {
  const { appName, appUrl, look } = app
  const view: Omit<ConnectView, 'language' | 'permissions' | 'publicTools'> = {
    look,
    appName,
    appUrl,
    links: app,
    connectionsPath: more.connectionsPath,
    helpPath: helpPath(urls.basePath),
    url: urls.resource,
    challenging: urls.challenging,
    isLocal: isLoopbackHostname(new URL(urls.resource).hostname),
  }
  const headers = { 'content-security-policy': connectPolicy(look) }
  return (request) => {
    const language = pageLanguage(request, more.languages)
    const { permissions, publicTools } = more
    const html = connectPage({
      ...view,
      language,
      permissions: permissions(language),
      publicTools: publicTools(),
    })
    return page(html, { language, look }, 200, headers)
  }
}

function helpPath(basePath: string): string {
  return `${basePath}/help`
}

/** Serves the page for people whose client does not connect. */
export function createHelpEndpoint(
  urls: PublicUrls,
  app: AppView & PageLinks,
  languages: Languages,
): Endpoint {
  const { appName, appUrl, look } = app
  const view: Omit<HelpView, 'language'> = {
    look,
    appName,
    appUrl,
    links: app,
    url: urls.resource,
    isLocal: isLoopbackHostname(new URL(urls.resource).hostname),
    startUrl: `${urls.issuer}/`,
  }
  const show: EndpointHandler = (request) => {
    const language = pageLanguage(request, languages)
    return page(helpPage({ ...view, language }), { language, look })
  }
  return { path: helpPath(urls.basePath), cors: 'none', methods: { GET: show } }
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
  const { cors, methods, otherMethods } = endpoint
  const inFront =
    (handler: EndpointHandler): EndpointHandler =>
    (request, context) =>
      isPageNavigation(request) ? show(request, context) : handler(request, context)
  return {
    ...endpoint,
    cors:
      cors === 'none' ? cors : (request) => (isPageNavigation(request) ? { kind: 'nobody' } : cors(request)),
    methods: Object.fromEntries(
      Object.entries(methods).map(([method, handler]) => [method, inFront(handler)]),
    ),
    ...(otherMethods && { otherMethods: inFront(otherMethods) }),
  }
}

/**
 * Returns whether a browser navigates to a page. Browsers say so in `Sec-Fetch-Mode`, over https and on this computer; elsewhere
 * the request must prefer HTML to what MCP clients accept.
 */
export function isPageNavigation(request: Request): boolean {
  if (request.method !== 'GET') return false
  const mode = request.headers.get('sec-fetch-mode')
  return mode === null ? prefersHtml(request.headers.get('accept') ?? '') : mode === 'navigate'
}

/** Returns whether a list of media ranges (RFC 9110 section 12.5.1) ranks HTML before JSON and event streams. Ignores wildcards. */
function prefersHtml(accept: string): boolean {
  const weights = new Map(accept.slice(0, 1024).split(',').map(readRange))
  const weightOf = (type: string): number => weights.get(type) ?? 0
  const wanted = weightOf('text/html')
  return (
    wanted > 0 &&
    wanted >= weightOf('*/*') &&
    wanted > Math.max(weightOf('application/json'), weightOf('text/event-stream'))
  )
}

function readRange(range: string): readonly [type: string, weight: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return [type, weight === undefined ? 1 : Number(weight) || 0]
}
