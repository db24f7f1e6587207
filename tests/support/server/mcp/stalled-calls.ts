import { assertionsSample } from './tool-fixture.ts'
import { fullAccess } from '../../../../server/core/access/access-rules.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Caller } from '../../../../server/core/tokens/caller.ts'
import { probe } from '../../../../server/cli/doctor/probe.ts'
import { createToolContexts } from '../../../../server/mcp/tools/tool-context.ts'
import { callGotrue } from '../../../../server/providers/supabase/call.ts'
import { createKeySet } from '../../../../server/providers/jwks.ts'
import { createOidcFetch } from '../../../../server/providers/openid-connect/oidc-connection.ts'
import { systemRuntime } from '../../../../server/startup/system-runtime.ts'

/**
 * Program for a test, run with `--expose-gc`: makes every kind of outgoing call to a server that never responds, or
 * with the argument `body` never completes its response, during constant garbage collection. Its timeouts are all
 * short. Prints the names of the calls that ended, as a JSON list.
 */
const timeoutMs = 300
const patienceMs = 3000

const timeout = AbortSignal.timeout.bind(AbortSignal)
AbortSignal.timeout = () => timeout(timeoutMs)

const server = createServer((_request, response) => {
  if (process.argv[2] === 'body')
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":')
})
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const caller: Caller = {
  credential: 'access_token',
  user: { id: 'https://provider#ada', sub: 'ada', email: undefined, name: undefined, emailVerified: false },
  clientId: 'mcpc_1',
  grantId: 'grant',
  workspace: undefined,
  scope: 'mcp',
  access: fullAccess,
  expiresAt: 0,
  providerToken: () => 'token',
  isLive: async () => true,
}
const contexts = createToolContexts({
  runtime: systemRuntime,
  providerOrigin: url,
  providerKey: undefined,
  assertions: assertionsSample,
})
const exchange = { signal: new AbortController().signal, progress() {}, log() {} }

const calls: Record<string, () => Promise<unknown> | undefined> = {
  'the auth API': () =>
    callGotrue({ url, apiKey: undefined }, { method: 'POST', path: '/token', body: {} }, systemRuntime),
  'an OpenID provider': () =>
    createOidcFetch(systemRuntime)(url, {
      method: 'POST',
      headers: {},
      body: 'a',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    }),
  'the key set': () => createKeySet(url, systemRuntime).find('kid', 'ES256'),
  'the web app': async () => (await contexts.ofCall(caller, exchange).fetch('/')).text(),
  'the doctor': () => probe(url, systemRuntime),
}

const ended: string[] = []
const running = Object.entries(calls).map(async ([name, call]) => {
  await call()?.catch(() => undefined)
  ended.push(name)
})
const collecting = setInterval(() => globalThis.gc?.(), 20)
await Promise.race([Promise.all(running), systemRuntime.sleep(patienceMs)])
clearInterval(collecting)
process.stdout.write(JSON.stringify(globalThis.gc ? ended.toSorted() : 'no --expose-gc'))
process.exit()
