import { afterEach, describe, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../tests/support/server/drawbridge-fixture.ts'
import type { Settings } from '../config/setting-table.ts'

const links = {
  privacyUrl: 'https://app.example.com/privacy?a=1&b=2',
  termsUrl: 'https://app.example.com/terms',
  supportUrl: 'https://app.example.com/support',
}
let drawbridge: DrawbridgeFixture
afterEach(() => drawbridge.close())

/** Returns every page that can be seen before or without signing in. */
async function pages(settings: Settings): Promise<string[]> {
  drawbridge = await startDrawbridge(settings)
  const { client_id: clientId } = await drawbridge.register()
  const browser = drawbridge.browser()
  const visits = [
    drawbridge.authorizeUrl(clientId),
    drawbridge.authorizeUrl('nobody'),
    'http://localhost:8787/',
    'http://localhost:8787/oauth/device',
    'http://localhost:8787/account/connections',
  ]
  const texts = []
  for (const url of visits) texts.push((await browser.visit(url)).html)
  return texts
}

describe('privacy policy, terms and support', () => {
  it('privacy policy, terms and support are links on every page', async () => {
    for (const text of await pages(links)) {
      expect(text).toContain('href="https://app.example.com/privacy?a=1&amp;b=2">Privacy</a>')
      expect(text).toContain(`href="${links.termsUrl}">Terms</a>`)
      expect(text).toContain(`href="${links.supportUrl}">Support</a>`)
    }
  })

  it('privacy policy, terms and support that are not set are on no page', async () => {
    for (const text of await pages({})) expect(text).not.toContain('<footer')
    await drawbridge.close()
    for (const text of await pages({ termsUrl: links.termsUrl })) {
      expect(text.match(/<footer[^]*<\/footer>/)?.[0].match(/<a /g)).toHaveLength(1)
    }
  })

  it('RFC 8414 2, RFC 9728 2: privacy policy, terms and support are in both documents', async () => {
    drawbridge = await startDrawbridge(links)
    const server = await drawbridge.fetch('/.well-known/oauth-authorization-server')
    expect(await server.json()).toMatchObject({
      op_policy_uri: links.privacyUrl,
      op_tos_uri: links.termsUrl,
      service_documentation: links.supportUrl,
    })
    const resource = await drawbridge.fetch('/.well-known/oauth-protected-resource')
    expect(await resource.json()).toMatchObject({
      resource_policy_uri: links.privacyUrl,
      resource_tos_uri: links.termsUrl,
      resource_documentation: links.supportUrl,
    })
  })
})
