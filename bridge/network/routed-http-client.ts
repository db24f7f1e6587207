import { createDirectClient } from './direct-http-client.ts'
import type { UrlClient } from './direct-http-client.ts'
import type { HttpClient } from './http-client.ts'
import type { NetworkConfig } from './network-config.ts'
import { chooseProxy } from './proxy-choice.ts'
import { readRequestUrl } from './request-url.ts'

/** Where a URL leads. */
interface Route {
  text: string
  url: URL
  proxyUrl: string | undefined
}

/**
 * The client that everything in the bridge sends with. Straight over HTTP/1.1 of its own; through undici, which is loaded then and
 * not before, for URLs that have to go through a proxy. After `close` it can be used again: that is how connections that
 * a sleeping computer lost are given up.
 */
export function createHttpClient(config: NetworkConfig): HttpClient {
  const direct = createDirectClient(config)
  const proxied = new Map<string, Promise<UrlClient>>()
  let latest: Route | undefined

  /** Nearly all requests are for the same URL: it is read and judged once. */
  function routeOf(text: string): Route {
    if (latest?.text === text) return latest
    const url = readRequestUrl(text, config.allowHttp)
    latest = { text, url, proxyUrl: chooseProxy(url, config.proxy) }
    return latest
  }

  async function proxiedClient(proxyUrl: string): Promise<UrlClient> {
    const { createProxiedClient } = await import('./proxied-http-client.ts')
    return createProxiedClient(config, proxyUrl)
  }

  return {
    async send(request) {
      const { url, proxyUrl } = routeOf(request.url)
      if (proxyUrl === undefined) return direct.send(request, url)
      let client = proxied.get(proxyUrl)
      if (client === undefined) proxied.set(proxyUrl, (client = proxiedClient(proxyUrl)))
      return (await client).send(request, url)
    },
    close() {
      direct.close()
      for (const client of proxied.values()) void client.then((opened) => opened.close())
    },
  }
}
