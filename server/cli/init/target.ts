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

const startHere = 'drawbridge-server --env-file drawbridge.env'

function inFolder(settings: Settings, needs: Target['needs'], ...files: string[]): Target {
  return {
    kind: 'folder',
    files,
    needs,
    settings: { secretKeys: 'file:secret-keys', ...settings },
    next: startHere,
  }
}

/** A place that builds `deploy/Dockerfile`, which needs the package beside it. `then` goes on from there. */
function fromImage(needs: Target['needs'], files: readonly string[], then: string): Target {
  return {
    kind: 'platform',
    files: [...files, 'Dockerfile', '.dockerignore'],
    needs,
    next: `npm pack drawbridge-server@${version}${then}`,
  }
}

const withSecrets = ', then, with the secrets of drawbridge.env: docs/where-to-run.md#'

export const targets: Readonly<Record<string, Target>> = {
  local: inFolder({}, []),
  caddy: inFolder({ trustedProxies: '127.0.0.1' }, ['baseUrl'], 'Caddyfile'),
  nginx: inFolder({ trustedProxies: '127.0.0.1' }, ['baseUrl'], 'nginx.conf'),
  compose: {
    ...fromImage(
      ['baseUrl'],
      ['compose.yaml'],
      ' && sudo chown 1000 secret-keys && docker compose up -d --build',
    ),
    kind: 'image',
    settings: { trustedProxies: 'private', secretKeys: 'file:/run/secrets/secret-keys' },
  },
  fly: fromImage(['baseUrl'], ['fly.toml'], `${withSecrets}flyio`),
  railway: fromImage(['baseUrl', 'store'], ['railway.json', 'railway.env'], `${withSecrets}railway`),
  render: fromImage(['baseUrl', 'store'], ['render.yaml'], `${withSecrets}render`),
  'cloud-run': fromImage(['baseUrl', 'store'], ['cloud-run.yaml'], `${withSecrets}cloud-run`),
  nextjs: {
    kind: 'app',
    files: ['route.ts', 'next.config.drawbridge.ts'],
    needs: ['store'],
    next: 'npm install drawbridge-server, merge next.config.drawbridge.ts into next.config.ts, then: npx next dev',
  },
}
