import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Remote } from '../support/remote/remote.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { createBrowser } from '../support/bridge/sign-in/browser.ts'
import { until } from '../support/until.ts'

/** A host with the login page of somebody else: it knows no code of its own, and sends browsers on to where they are given out. */
async function startPageHost(stage: Stage, remote: () => Remote): Promise<string> {
  const server: Server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://host')
    if (pathname !== '/authorize') return void response.writeHead(404).end()
    response.writeHead(302, { Location: `${remote().issuer}/authorize${search}` }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  stage.later(() => {
    server.closeAllConnections()
    server.close()
  })
  return origin
}

/** A server whose login page is said to be on another host. `iss` is in no answer, as with many servers. */
async function startServer(stage: Stage): Promise<{ remote: Remote; page: string; issuer: string }> {
  let remote: Remote | undefined
  const page = await startPageHost(stage, () => remote as Remote)
  remote = await stage.remote({ auth: true, iss: 'none', pageOrigin: page, deviceGrant: false })
  return { remote, page: new URL(page).host, issuer: new URL(remote.issuer).host }
}

const flags = ['--store', 'file']
const linkIn = (text: string): string => /https?:\/\/\S*response_type=code\S*/.exec(text)?.[0] ?? ''

describe.concurrent('a login page on another host', () => {
  it(
    'that nothing confirms is told in the line, by the tool and by the elicitation, and not opened',
    staged(async (stage) => {
      const { remote, page, issuer } = await startServer(stage)
      const browser = createBrowser(0)
      stage.later(() => browser.remove())
      const said = `${issuer} sends you to ${page} to sign in.`
      const plain = stage.bridge(remote.url, { flags, environment: browser.environment, opens: true })
      await plain.initialize({})
      expect(await plain.call('whoami')).toContain(said)
      expect(await plain.call('sign_in')).toContain(said)
      const line =
        plain
          .stderr()
          .split('\n')
          .find((text) => text.includes('response_type=code')) ?? ''
      expect(line).toContain(said)
      expect(line.indexOf(said)).toBeLessThan(line.indexOf(linkIn(line)))
      plain.endInput()
      await plain.over

      const asking = stage.bridge(remote.url, { flags, environment: browser.environment, opens: true })
      await asking.initialize({ elicitation: { form: {}, url: {} } })
      const answer = asking.call('whoami')
      const { params } = await asking.find(({ method }) => method === 'elicitation/create')
      expect(params).toMatchObject({ mode: 'url', message: expect.stringContaining(said) as string })
      expect(browser.openings()).toEqual([])

      // Whoever goes there all the same has accepted the page.
      await fetch(linkIn(asking.stderr()))
      expect(await answer).toContain('clientId')
      remote.revokeGrants()
      remote.set({ approval: 'wait' })
      const later = stage.bridge(remote.url, { flags, environment: browser.environment, opens: true })
      await later.initialize({})
      void later.call('whoami')
      await until(() => browser.openings().length === 1, 'the browser')
      expect(later.stderr()).not.toContain('sends you to')
    }),
    60_000,
  )
})
