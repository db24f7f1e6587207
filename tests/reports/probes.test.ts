import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startNginxSite, hasNginx } from '../e2e/nginx-proxy.ts'
import { type ServerProcess, type ServerSettings, startServer } from '../e2e/server-process.ts'
import { startServingProcess } from '../peers/serving-process.ts'
import { findProgram, skipWithout } from '../support/find-program.ts'
import { freePort } from '../support/server/free-port.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const portOf = (origin: string): number => Number(new URL(origin).port)

/** Sends bytes; returns the status of what comes back, and its body. */
function probe(server: ServerProcess, text: string): Promise<[status: number, body: string]> {
  return new Promise((resolve) => {
    const socket = connect(portOf(server.origin), '127.0.0.1', () => socket.write(text))
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.on('error', () => {})
    socket.on('close', () => {
      const [head = '', body = ''] = received.split('\r\n\r\n')
      resolve([Number(head.split(' ')[1]), body])
    })
  })
}

describe('probes', () => {
  let server: ServerProcess
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server?.close())

  const closed = 'Connection: close\r\n\r\n'
  it.each(
    ['/healthz', '/readyz', '/readyz/', '/readyz?verbose'].flatMap((path) =>
      [
        ['HTTP/1.0 without a Host', `GET ${path} HTTP/1.0\r\n\r\n`],
        ['HTTP/1.0 with a Host', `GET ${path} HTTP/1.0\r\nHost: lb.internal\r\n\r\n`],
        ['HTTP/1.1 with an empty Host', `GET ${path} HTTP/1.1\r\nHost:\r\n${closed}`],
        ['the address of a pod as Host', `GET ${path} HTTP/1.1\r\nHost: 10.1.2.3:8787\r\n${closed}`],
        ['an IPv6 address as Host', `GET ${path} HTTP/1.1\r\nHost: [fd00::7]:8787\r\n${closed}`],
        ['the name of a service as Host', `GET ${path} HTTP/1.1\r\nHost: mcp_door.svc.:8787\r\n${closed}`],
        ['the absolute form', `GET http://10.1.2.3:8787${path} HTTP/1.1\r\nHost: 10.1.2.3:8787\r\n${closed}`],
        [
          'the kubelet',
          `GET ${path} HTTP/1.1\r\nHost: 10.1.2.3:8787\r\nUser-Agent: kube-probe/1.31\r\nAccept: */*\r\n${closed}`,
        ],
        ['an Accept of images', `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: image/png;q=0\r\n${closed}`],
        ['an Accept of pages', `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n${closed}`],
        [
          'an upgrade to HTTP/2',
          `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`,
        ],
        ['HEAD', `HEAD ${path} HTTP/1.1\r\nHost: x\r\n${closed}`],
        ['HEAD of HTTP/1.0', `HEAD ${path} HTTP/1.0\r\n\r\n`],
        ['OPTIONS', `OPTIONS ${path} HTTP/1.1\r\nHost: x\r\n${closed}`],
        ['OPTIONS of HTTP/1.0', `OPTIONS ${path} HTTP/1.0\r\n\r\n`],
        ['POST', `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n${closed}{}`],
      ].map(([what = '', text = '']) => [path, what, text] as const),
    ),
  )('the probe %s answers %s', async (_path, what, text) => {
    const [status, body] = await probe(server, text)
    expect(status).toBe(200)
    expect(body.includes('"status":"ok"')).toBe(!what.startsWith('HEAD'))
  })

  it('addresses other than the probes refuse a foreign host, and HTTP/1.1 without one', async () => {
    expect((await probe(server, `GET /mcp HTTP/1.1\r\nHost: 10.1.2.3:8787\r\n${closed}`))[0]).toBe(421)
    expect((await probe(server, `GET /readyz HTTP/1.1\r\n${closed}`))[0]).toBe(400)
  })

  it
    .skipIf(!hasHaproxy())
    .each([
      ['option httpchk GET /readyz'],
      ['option httpchk HEAD /healthz'],
      ['option httpchk OPTIONS /readyz'],
      ['option httpchk\n  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 10.1.2.3'],
      ['option httpchk\n  http-check send meth GET uri /readyz hdr Accept text/xml'],
      ['option httpchk GET /readyz\n  http-check expect rstring ok'],
      [''],
    ])('HAProxy finds the server up by: %s', async (checks) => {
    const haproxy = await startHaproxy(portOf(server.origin), checks)
    // Empty before the first check, and again while the next one is under way.
    await expect.poll(haproxy.state).toMatch(/^UP (?:L7OK|L4OK)/)
    const host = new URL(server.baseUrl).host
    const through = await fetch(`http://127.0.0.1:${haproxy.port}/healthz`, { headers: { host } })
    expect(through.status).toBe(200)
  })

  it.skipIf(!hasNginx()).each(['', 'proxy_http_version 1.1;', 'proxy_set_header Host "";'])(
    'nginx passes probes on: %s',
    async (line) => {
      const port = await freePort()
      const close = await startNginxSite(
        `server { listen 127.0.0.1:${port}; location / { proxy_pass ${server.origin}; ${line} } }`,
        port,
      )
      onTestFinished(close)
      for (const path of ['/healthz', '/readyz'])
        expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200)
    },
  )
})

function hasHaproxy(): boolean {
  return (
    findProgram('haproxy') !== undefined ||
    skipWithout('haproxy is missing: install the apt package `haproxy`')
  )
}

/** Starts HAProxy in front of a server that it checks four times a second. `state` is empty before the first check. */
async function startHaproxy(
  target: number,
  checks: string,
): Promise<{ port: number; state(): Promise<string> }> {
  const folder = temporaryFolder()
  const [port, statsPort] = [await freePort(), await freePort()]
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `defaults
  mode http
  timeout connect 2s
  timeout client 10s
  timeout server 10s
frontend stats
  bind 127.0.0.1:${statsPort}
  stats enable
  stats uri /
frontend door
  bind 127.0.0.1:${port}
  default_backend doors
backend doors
  ${checks}
  server one 127.0.0.1:${target} check inter 250ms fall 1 rise 1
`,
  )
  const args = ['-db', '-f', join(folder, 'haproxy.cfg')]
  const haproxy = await startServingProcess({ command: findProgram('haproxy') ?? '', args, port })
  onTestFinished(() => haproxy.close())
  return {
    port,
    async state() {
      const table = await (await fetch(`http://127.0.0.1:${statsPort}/;csv`)).text()
      const [head = '', ...lines] = table.split('\n')
      const names = head.replace('# ', '').split(',')
      const values = lines.find((line) => line.startsWith('doors,one,'))?.split(',') ?? []
      const of = (name: string): string => values[names.indexOf(name)] ?? ''
      const isChecked = of('check_status') !== '' && !/^(?:INI|\*)/.test(of('check_status'))
      return isChecked ? `${of('status')} ${of('check_status')}` : ''
    },
  }
}

/** What `/readyz` says about the store. */
async function storeState(server: ServerProcess): Promise<[status: number, store: unknown]> {
  const response = await server.fetch(`${server.origin}/readyz`)
  const { checks } = (await response.json()) as { checks: Record<string, unknown> }
  return [response.status, checks['store']]
}

/** Expects `/readyz` to show a change within one interval of a probe. */
async function expectSoon(server: ServerProcess, state: [status: number, store: string]): Promise<void> {
  const before = Date.now()
  await expect.poll(() => storeState(server), { interval: 100 }).toEqual(state)
  expect(Date.now() - before).toBeLessThan(5000)
}

describe('readiness includes writing', () => {
  const servers: ServerProcess[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })
  const open = async (settings: ServerSettings): Promise<ServerProcess> => {
    const server = await startServer(settings)
    servers.push(server)
    return server
  }

  /** A file system of its own for two megabytes; undefined where none may be mounted. */
  function mounted(): string | undefined {
    const folder = join(temporaryFolder(afterAll), 'disk')
    mkdirSync(folder)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status !== 0) {
      process.stderr.write('skipped: no file system can be mounted here, so none is full\n')
      return undefined
    }
    afterAll(() => void spawnSync('umount', ['-l', folder]))
    return folder
  }

  const disk = mounted()
  it.skipIf(disk === undefined)(
    '/readyz with SQLite is 503 while the disk is full, and 200 afterwards',
    async () => {
      const server = await open({ STORE: `sqlite:${disk}/server.db` })
      expect(await storeState(server)).toEqual([200, 'ok'])
      try {
        for (;;) appendFileSync(`${disk}/fill`, Buffer.alloc(4096))
      } catch {
        // It is full.
      }
      await expectSoon(server, [503, 'failed'])
      rmSync(`${disk}/fill`)
      await expectSoon(server, [200, 'ok'])
    },
  )

  describe('with Postgres', () => {
    let postgres: PostgresServer
    beforeAll(async () => {
      postgres = await startPostgres()
    })
    afterAll(() => postgres?.close())

    const reload = 'SELECT pg_reload_conf()'
    it.each<[what: string, spoil: string[], mend: string[]]>([
      [
        'is read-only',
        ['ALTER SYSTEM SET default_transaction_read_only = on', reload],
        ['ALTER SYSTEM RESET default_transaction_read_only', reload],
      ],
      [
        'says that its disk is full',
        [
          `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$`,
          'CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON attempt EXECUTE FUNCTION full_disk()',
        ],
        ['DROP FUNCTION full_disk CASCADE'],
      ],
    ])(
      '/readyz with Postgres is 503 once the database %s, and 200 once it is not',
      async (_, spoil, mend) => {
        const url = await postgres.createDatabase()
        const server = await open({ STORE: url })
        expect(await storeState(server)).toEqual([200, 'ok'])
        for (const sql of spoil) await postgres.query(url, sql)
        await expectSoon(server, [503, 'failed'])
        for (const sql of mend) await postgres.query(url, sql)
        await expectSoon(server, [200, 'ok'])
      },
    )
  })
})
