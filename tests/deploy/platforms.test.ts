import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { checkSettings } from '../../server/config/config.ts'
import { parseAddressRanges } from '../../server/config/config-value.ts'
import { readSettings } from '../../server/config/setting-source.ts'
import { settings } from '../../server/config/setting-table.ts'
import { parseSecretKeys, parseStore } from '../../server/config/store-address.ts'
import { createAddressChain } from '../../server/http/listener/client-address.ts'
import { blocksOf } from '../docs/command-block.ts'
import { findProgram, skipWithout } from '../support/find-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { read, readJson, root } from './deploy-files.ts'
import {
  cloudRunFlags,
  commandWith,
  commandsWith,
  fly,
  outputOf,
  type Platform,
  platforms,
  railway,
  render,
  renderService,
  section,
} from './platform.ts'

const page = read('docs/where-to-run.md')
const dockerfile = read('deploy/Dockerfile')
const each = platforms.map((platform) => [platform.name, platform] as const)

/** The paths of all values, without the numbers of lists. */
function keysOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => keysOf(item, path))
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => keysOf(inner, path === '' ? key : `${path}.${key}`))
}

/** What each platform documents, of which the files use a part. */
const known = {
  fly:
    'app primary_region kill_signal kill_timeout mounts.source mounts.destination mounts.initial_size ' +
    'http_service.internal_port http_service.force_https http_service.auto_stop_machines http_service.auto_start_machines ' +
    'http_service.min_machines_running http_service.concurrency.type http_service.concurrency.soft_limit ' +
    'http_service.concurrency.hard_limit http_service.http_options.idle_timeout http_service.checks.method ' +
    'http_service.checks.path http_service.checks.interval http_service.checks.timeout http_service.checks.grace_period ' +
    'vm.size vm.memory vm.cpus',
  render:
    'services.type services.name services.runtime services.plan services.region services.numInstances ' +
    'services.dockerfilePath services.dockerContext services.healthCheckPath services.maxShutdownDelaySeconds ' +
    'services.domains services.envVars.key services.envVars.value services.envVars.sync services.disk.name ' +
    'services.disk.mountPath services.disk.sizeGB',
  railway:
    '$schema build.builder build.dockerfilePath build.watchPatterns deploy.healthcheckPath deploy.healthcheckTimeout ' +
    'deploy.restartPolicyType deploy.restartPolicyMaxRetries deploy.overlapSeconds deploy.drainingSeconds',
  cloudRun:
    '--source --region --allow-unauthenticated --env-vars-file --set-secrets --min-instances --max-instances ' +
    '--no-cpu-throttling --timeout --concurrency --session-affinity',
}

describe('the keys of the files', () => {
  it.each([
    ['deploy/fly.toml', keysOf(fly).filter((key) => !key.startsWith('env.')), known.fly],
    ['deploy/render.yaml', keysOf(render), known.render],
    ['deploy/railway.json', keysOf(railway), known.railway],
    ['the command of Cloud Run', Object.keys(cloudRunFlags), known.cloudRun],
  ])('%s has only keys that the platform documents', (_file, keys, documented) => {
    expect(keys.length).toBeGreaterThan(5)
    expect(keys.filter((key) => !documented.split(' ').includes(key))).toEqual([])
  })

  it('the files have the types and choices that the platforms take', () => {
    expect(fly).toMatchObject({
      kill_signal: 'SIGTERM',
      http_service: { auto_stop_machines: 'off', auto_start_machines: false, force_https: true },
    })
    expect(renderService).toMatchObject({ type: 'web', runtime: 'docker', plan: 'starter', numInstances: 1 })
    // Its parser takes numbers only, although its documentation shows text.
    expect(railway).toMatchObject({
      build: { builder: 'DOCKERFILE', dockerfilePath: 'Dockerfile' },
      deploy: {
        restartPolicyType: 'ALWAYS',
        overlapSeconds: 10,
        drainingSeconds: 40,
        healthcheckTimeout: 60,
      },
    })
    expect(renderService.envVars.every(({ value, sync }) => (value === undefined) === (sync === false))).toBe(
      true,
    )
  })

  it('every place leaves the server the time to drain, and asks for its health without any host name', () => {
    const times = [
      fly['kill_timeout'],
      renderService['maxShutdownDelaySeconds'],
      (railway['deploy'] as { drainingSeconds: number }).drainingSeconds,
    ]
    expect(times).toEqual([40, 40, 40])
    const service = fly['http_service'] as { checks: { path: string }[] }
    // A restart or an empty balancer mends no provider: only a deployment waits for all.
    expect(service.checks.map(({ path }) => path)).toEqual(['/healthz'])
    expect(renderService['healthCheckPath']).toBe('/healthz')
    expect(railway).toMatchObject({ deploy: { healthcheckPath: '/readyz' } })
  })

  it('one machine has the volume of deploy/fly.toml, where the image may write', () => {
    const { destination } = fly['mounts'] as { destination: string }
    expect(dockerfile).toContain(`mkdir ${destination} && chown 1000:1000 ${destination}`)
    expect(parseStore((fly['env'] as Record<string, string>)['DRAWBRIDGE_STORE'] ?? '')).toEqual({
      kind: 'sqlite',
      path: `${destination}/server.db`,
    })
    expect(commandWith('fly deploy')).toContain('--ha=false')
  })

  it('the port of deploy/fly.toml is that of the image', () => {
    const { internal_port: port } = fly['http_service'] as { internal_port: number }
    expect(dockerfile).toMatch(new RegExp(`PORT=${port}$`, 'm'))
    expect(dockerfile).toContain(`EXPOSE ${port}`)
    expect(dockerfile).not.toContain('DRAWBRIDGE_LISTEN')
    expect(read('Dockerfile')).toMatch(new RegExp(`PORT=${port} `))
  })
})

describe('the variables of the files', () => {
  /** The values that people put in, and made-up secrets. */
  const filled = ({ variables, secrets }: Platform): Record<string, string> => ({
    ...Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, value.replace('REF', 'abcdefghijklmnopqrst')]),
    ),
    ...Object.fromEntries(secrets.map((name) => [name, made[name] ?? ''])),
  })
  const [transaction = ''] = [...page.matchAll(/^postgres:\/\/\S+$/gm)].map(String)
  const made: Record<string, string> = {
    DRAWBRIDGE_STORE: transaction,
    DRAWBRIDGE_SECRET_KEYS: `a:${Buffer.alloc(32, 7).toString('base64')}\n`,
  }

  it.each(each)('the settings for %s have no fault, and none is missing', (_name, platform) => {
    const read = readSettings({}, { ...filled(platform), PORT: '8080' })
    const { problems, config } = checkSettings(read, { production: true })
    expect(problems).toEqual([])
    expect(config.listen).toEqual({ host: '0.0.0.0', port: 8080 })
    expect(config.tools).toBe('/etc/drawbridge/my-tools.mjs')
  })

  it.each(each)('the placeholder of the project for %s is refused by name', (_name, platform) => {
    const { problems } = checkSettings(readSettings({}, { ...filled(platform), ...platform.variables }), {
      production: true,
    })
    expect(problems).toEqual([expect.stringMatching(/^DRAWBRIDGE_PROVIDER_URL: REF stands for/)])
  })

  it.each(each)('no secret is in the file for %s, and the page says how it gets there', (_name, platform) => {
    // The publishable key has no flag either, but opens nothing.
    const secret: string[] = settings
      .filter((setting) => setting.secret && setting.field !== 'providerKey')
      .map(variableOf)
    expect(platform.variables['DRAWBRIDGE_PROVIDER_KEY']).toMatch(/^sb_publishable_/)
    for (const [name, value] of Object.entries(platform.variables)) {
      expect(secret).not.toContain(name)
      expect(value).not.toMatch(/:\/\/[^/]*@|password=/i)
    }
    const needed = ['DRAWBRIDGE_SECRET_KEYS', 'DRAWBRIDGE_STORE'].filter(
      (name) => !(name in platform.variables),
    )
    expect(platform.secrets.toSorted()).toEqual(needed)
  })

  it('the files differ only in what the places decide', () => {
    const common = platforms.map(({ variables }) =>
      Object.entries(variables).filter(([name]) => !/_(?:STORE|TRUSTED_PROXIES)$/.test(name)),
    )
    for (const variables of common) expect(variables).toEqual(common[0])
  })

  it.each(['fly.toml', 'render.yaml', 'railway.env', 'cloud-run.yaml'])(
    'deploy/%s shows the other files that settings may name, each in the image',
    (file) => {
      const shown = [
        ...read(`deploy/${file}`).matchAll(/DRAWBRIDGE_(\w+)\W+(?:value: )?\/etc\/drawbridge\/([\w.-]+)/g),
      ]
      expect(shown.map(([, name]) => name)).toEqual(['TOOLS', 'UPSTREAM', 'ACCESS'])
      for (const [, , name] of shown) expect(dockerfile).toContain(` ${name}* `)
    },
  )

  it.each([
    ['Fly.io', '172.16.133.18', '198.51.100.7, 203.0.113.10'],
    ['Fly.io', '172.16.133.18', '198.51.100.7, 2001:db8::10'],
    ['Fly.io', 'fdaa:0:1::2', '192.0.2.1, 198.51.100.7, 203.0.113.10'],
    ['Render', '10.21.157.68', '198.51.100.7, 104.22.17.40'],
    ['Render', '10.21.157.68', '192.0.2.1, 198.51.100.7, 172.70.1.2, 10.1.1.1'],
    ['Railway', '100.64.0.2', '198.51.100.7'],
    ['Railway', '100.64.0.2', '192.0.2.1, 198.51.100.7'],
    ['Cloud Run', '169.254.1.1', '198.51.100.7'],
  ])('the client is known at %s behind %s, which writes %s', (name, peer, header) => {
    const { variables } = platforms.find((platform) => platform.name === name)!
    const trusted = parseAddressRanges(variables['DRAWBRIDGE_TRUSTED_PROXIES'] ?? '')
    expect(createAddressChain(trusted, { onlyByProxy: true })(header, peer)).toBe('198.51.100.7')
  })

  it('the ring in secret-keys gets to Fly.io as one line of its variable', () => {
    const folder = temporaryFolder(afterAll)
    writeFileSync(join(folder, 'secret-keys'), made['DRAWBRIDGE_SECRET_KEYS'] ?? '')
    const given = parseEnv(outputOf(commandWith('fly secrets import'), 'fly', folder))
    expect(Object.keys(given)).toEqual(['DRAWBRIDGE_SECRET_KEYS'])
    expect(parseSecretKeys(given['DRAWBRIDGE_SECRET_KEYS'] ?? '')).toEqual(
      parseSecretKeys(made['DRAWBRIDGE_SECRET_KEYS'] ?? ''),
    )
  })

  it('the address of the pooler is taken, also with the line end of a file', () => {
    expect(new URL(transaction).port).toBe('6543')
    for (const address of [transaction, `${transaction}\n`]) {
      expect(parseStore(address)).toMatchObject({ kind: 'postgres' })
      expect(new URL(address).searchParams.get('schema')).toBe('drawbridge')
      const certificate = new URL(address).searchParams.get('sslrootcert')?.split('/').at(-1)
      expect(dockerfile).toContain(` ${certificate}* /etc/drawbridge/`)
    }
    expect(transaction).toContain('pooler=transaction')
  })
})

describe('docs/where-to-run.md and the files', () => {
  const files = spawnSync('git', ['ls-files', '-co', '--exclude-standard', 'deploy'], {
    cwd: root,
    encoding: 'utf8',
  })
    .stdout.split('\n')
    .filter((path) => path !== '' && path !== 'deploy/tools.mjs')

  it.each(files.map((path) => [path]))('docs/where-to-run.md has %s', (path) => {
    expect(page.includes(`](../${path})`) || page.includes(path)).toBe(true)
  })

  it('docs/where-to-run.md has a section for each place of its table', () => {
    const places = [...page.matchAll(/^\| \[.+?\]\(#([\w-]+)\)/gm)].map(([, anchor]) => anchor)
    expect(places.length).toBeGreaterThanOrEqual(7)
    const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, text = '']) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    for (const place of places) expect(headings).toContain(place)
  })

  it('docs/where-to-run.md shows the ranges that private stands for', () => {
    const shown = [...section('The proxy in front').matchAll(/^\| ([\da-f:., /]+) \|/gm)].flatMap(
      ([, ranges = '']) => ranges.split(', '),
    )
    expect(shown.toSorted()).toEqual(parseAddressRanges('private').toSorted())
  })

  it('docs/where-to-run.md shows the limits that the files set', () => {
    const rows = section('Time limits and streams')
    const { http_options: options } = fly['http_service'] as { http_options: { idle_timeout: number } }
    expect(rows).toContain(`${options.idle_timeout} s, \`idle_timeout\``)
    for (const name of ['kill_timeout', 'drainingSeconds', 'maxShutdownDelaySeconds'])
      expect(rows).toContain(`40 s, \`${name}\``)
    const minutes = Number(cloudRunFlags['--timeout']) / 60
    expect([...rows.matchAll(/(\d+) min, `--timeout`/g)].map(([, shown]) => Number(shown))).toEqual([
      minutes,
      minutes,
    ])
    expect(read('deploy/nginx.conf')).toContain('proxy_read_timeout 1h;')
    expect(read('deploy/nginx.conf')).toContain('large_client_header_buffers 4 144k;')
    expect(read('deploy/compose.yaml')).toContain('stop_grace_period: 40s')
    expect(read('deploy/drawbridge.service')).toContain('TimeoutStopSec=40')
  })

  it('docs/where-to-run.md, the Dockerfile and the package have one version', () => {
    const { version } = readJson('server/package.json')
    const names = [...(page + dockerfile).matchAll(/drawbridge-server-([\d.]+)\.tgz/g)].map(
      ([, found]) => found,
    )
    expect(names.length).toBeGreaterThan(2)
    expect([...new Set(names)]).toEqual([version])
  })

  it('blocks of docs/where-to-run.md set no flag that there is not', () => {
    const flags: readonly string[] = settings.map(flagOf)
    const used = blocksOf('docs/where-to-run.md').flatMap(({ text }) =>
      [...text.matchAll(/drawbridge-server (--[\w-]+)/g)].map(([, flag]) => flag),
    )
    for (const flag of used) expect(flags).toContain(flag)
  })

  it('README.md leads to docs/where-to-run.md', () => {
    expect(read('README.md')).toMatch(/^Deploy: .*\(docs\/where-to-run\.md\)/m)
  })
})

/** Says once what is skipped without it. */
function hasCaddy(): boolean {
  return (
    findProgram('caddy') !== undefined || skipWithout('Caddy is missing: install the apt package `caddy`')
  )
}

it.skipIf(!hasCaddy())('deploy/Caddyfile is a configuration that Caddy takes', () => {
  const caddy = (...args: string[]): number | null =>
    spawnSync(findProgram('caddy') ?? '', args, {
      cwd: root,
      env: { HOME: temporaryFolder(afterAll), PATH: process.env['PATH'] ?? '' },
    }).status
  expect(caddy('validate', '--adapter', 'caddyfile', '--config', 'deploy/Caddyfile')).toBe(0)
  expect(caddy('validate', '--adapter', 'caddyfile', '--config', 'deploy/nginx.conf')).not.toBe(0)
})

describe('the folder of an image', () => {
  const copied = /^COPY (.+) \/etc\/drawbridge\/$/m.exec(dockerfile)?.[1]?.split(' ') ?? []

  it('the image of deploy/Dockerfile has its files by name, and no secret', () => {
    expect(copied[0]).toMatch(/^drawbridge-server-.*\.tgz$/)
    expect(copied.slice(1).every((name) => name.endsWith('*'))).toBe(true)
    for (const secret of ['secret-keys', '.env', 'drawbridge.env', '*']) expect(copied).not.toContain(secret)
    expect(dockerfile).toMatch(/^USER 1000:1000$/m)
    // Railway refuses images that have one.
    expect(dockerfile).not.toMatch(/^VOLUME/m)
  })

  it('deploy/.dockerignore lets a builder see what the Dockerfile copies, and nothing else', () => {
    const folder = temporaryFolder(afterAll)
    // Git reads the same patterns, with the opposite meaning: what it ignores is left out.
    spawnSync('git', ['init', '-q'], { cwd: folder })
    writeFileSync(join(folder, '.gitignore'), read('deploy/.dockerignore'))
    const isSeen = (name: string): boolean =>
      spawnSync('git', ['check-ignore', '-q', name], { cwd: folder }).status === 1
    for (const name of copied)
      expect(isSeen(name.replace('logo.*', 'logo.svg').replace(/\*$/, '')), name).toBe(true)
    for (const name of ['secret-keys', 'secret-keys.old', 'drawbridge.env', '.env', 'server.db', 'fly.toml'])
      expect(isSeen(name), name).toBe(false)
  })

  it('the commands of docs/where-to-run.md keep secrets out of arguments', () => {
    const blocks = ['fly secrets import', 'railway variable set', 'gcloud secrets create']
    for (const command of blocks.flatMap(commandsWith))
      expect(command).not.toMatch(/(?:SECRET_KEYS|STORE)=(?!\/|drawbridge-(?:keys|store):)\S|\$\(cat/)
  })
})
