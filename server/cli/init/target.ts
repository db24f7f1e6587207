import type { Settings } from '../../config/setting-table.ts'
import { version } from '../../config/version.ts'

/** A place to run the server in. */
export interface Target {
  /**
   * How the server gets its settings: by `--env-file` in the `folder`; as the env file of an `image`, which has the files that settings
   * name; from a file of a `platform`, so that the env file has the secrets only; or as the env file of the `app` that it lives in.
   */
  kind: 'folder' | 'image' | 'platform' | 'app'
  /** Files of `deploy/`. */
  files: readonly string[]
  /** Settings that have no default there. */
  needs: readonly ('baseUrl' | 'store')[]
  /** Settings that the place decides, unless they are given. */
  settings?: Settings
  /** The next command, and where it goes on. */
  next: string
}

const secretKeys = 'file:secret-keys'
const behindProxy: Settings = { secretKeys, trustedProxies: '127.0.0.1' }
const start = 'drawbridge-server --env-file drawbridge.env'
/** The Dockerfile needs the package beside it. */
const image = ['Dockerfile', '.dockerignore']
const pack = `npm pack drawbridge-server@${version}`

/** A platform whose section of docs/where-to-run.md goes on with the settings of `drawbridge.env`, and `more`. */
function platform(files: readonly string[], needs: Target['needs'], section: string, more = ''): Target {
  const next = `${pack}, then, with the secrets of drawbridge.env${more}: docs/where-to-run.md#${section}`
  return { kind: 'platform', files: [...files, ...image], needs, next }
}

const flyAddresses = ', and in fly.toml the addresses of fly ips allocate-v4 --shared and fly ips allocate-v6'

export const targets: Readonly<Record<string, Target>> = {
  local: { kind: 'folder', files: [], needs: [], settings: { secretKeys }, next: start },
  caddy: { kind: 'folder', files: ['Caddyfile'], needs: ['baseUrl'], settings: behindProxy, next: start },
  nginx: { kind: 'folder', files: ['nginx.conf'], needs: ['baseUrl'], settings: behindProxy, next: start },
  compose: {
    kind: 'image',
    files: ['compose.yaml', ...image],
    needs: ['baseUrl'],
    settings: { secretKeys: 'file:/run/secrets/secret-keys', trustedProxies: 'private' },
    next: `${pack} && sudo chown 1000 secret-keys && docker compose up -d --build`,
  },
  fly: platform(['fly.toml'], ['baseUrl'], 'flyio', flyAddresses),
  railway: platform(['railway.json', 'railway.env'], ['baseUrl', 'store'], 'railway'),
  render: platform(['render.yaml'], ['baseUrl', 'store'], 'render'),
  'cloud-run': platform(['cloud-run.yaml'], ['baseUrl', 'store'], 'cloud-run'),
  nextjs: {
    kind: 'app',
    files: ['route.ts', 'next.config.drawbridge.ts'],
    needs: ['store'],
    next: 'npm install drawbridge-server, merge next.config.drawbridge.ts into next.config.ts, then: npx next dev',
  },
}
