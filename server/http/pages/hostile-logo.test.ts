// An SVG may hold scripts and addresses. Shown as an image it runs and loads nothing.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findChromium,
  type RunningChromium,
  startChromium,
} from '../../../tests/support/server/headless-chromium.ts'
import { errorSample } from '../../../tests/support/pages/view-sample.ts'
import { readLogo } from '../../core/logo.ts'
import { valueOr } from '../../core/document.ts'
import { errorPage } from './error-page.ts'
import { contentSecurityPolicy } from './layout.ts'
import { createLook } from './look.ts'

const hostile = (
  origin: string,
): string => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="fetch('${origin}/onload')">
<script>fetch('${origin}/script')</script>
<style>@import url(${origin}/import.css); rect { fill: url(${origin}/paint.svg#a) }</style>
<rect width="9" height="9"/>
<image href="${origin}/image.png" width="9" height="9"/>
<use href="${origin}/use.svg#a"/>
<foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${origin}/frame"></iframe></foreignObject>
</svg>`

const chromium = findChromium()

describe.skipIf(chromium === undefined)('a hostile logo, in Chromium', () => {
  let running: RunningChromium
  const asked = new Set<string>()
  const server = createServer(({ url = '' }, response) => {
    asked.add(url)
    const svg = hostile(origin())
    if (url === '/logo') return response.setHeader('content-type', 'image/svg+xml').end(svg)
    if (url !== '/page') return response.writeHead(404).end()
    const look = createLook({
      appName: 'Notes',
      logoUrl: valueOr(readLogo(Buffer.from(svg), 'logo'), undefined),
    })
    return response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .setHeader('content-security-policy', contentSecurityPolicy(look))
      .end(errorPage({ ...errorSample, look }))
  })
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    running = await startChromium(chromium ?? '')
  })
  afterAll(async () => {
    await running?.close()
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })

  /** Returns what the browser asks for when it opens `path`. */
  async function open(path: string, bypassPolicy = false): Promise<{ width: unknown; asked: string[] }> {
    asked.clear()
    const page = await running.browser.newPage()
    await page.setBypassCSP(bypassPolicy)
    await page.goto(origin() + path, { waitUntil: 'networkidle0' })
    const width = await page.evaluate(`document.querySelector('img.logo')?.naturalWidth`)
    await page.close()
    return { width, asked: [...asked].toSorted() }
  }

  it('a hostile logo opened by itself runs its scripts and loads its resources', async () => {
    const { asked } = await open('/logo')
    expect(asked).toEqual(
      expect.arrayContaining(['/frame', '/image.png', '/import.css', '/onload', '/script']),
    )
  })

  it.each([
    ['with the policy of the page', false],
    ['even without the policy', true],
  ])('a hostile logo on a page is shown, and runs and loads nothing, %s', async (_case, bypassPolicy) => {
    const { width, asked } = await open('/page', bypassPolicy)
    expect(width).toBeGreaterThan(0)
    expect(asked).toEqual(['/page'])
  })
})
