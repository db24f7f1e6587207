import { join } from 'node:path'
import { type Child, startChild } from './child.ts'
import { installPeers } from './peer-install.ts'
import { writeServerScript } from './server-script.ts'

/** Another system measured in the same rounds: a server script next to this file, and its endpoints. */
export interface Rival {
  /** Its name in tables and figures. */
  name: string
  script: string
  /** Undefined where it is not supported. */
  metadataPath: string | undefined
  refreshPath: string | undefined
  /** It serves `tools/list` at `/mcp` to its own access tokens. */
  toolsList: boolean
  /** Packages at exact versions, installed when it is first started. */
  packages?: Readonly<Record<string, string>>
}

/** The same requests on node:http alone: the lower bound for any server. */
export const floor = 'node:http floor'
export const sdkRouter = 'MCP SDK 1.32.2 router, in memory'
export const oidcProvider = 'oidc-provider 9.13.3, in memory'

/** The server that is the {@link floor}. */
export const floorServer: Rival = {
  name: floor,
  script: 'raw-server.ts',
  metadataPath: '/.well-known/oauth-authorization-server',
  refreshPath: '/oauth/token',
  toolsList: true,
}

/** All systems measured next to Drawbridge. */
export const rivals: readonly Rival[] = [
  floorServer,
  {
    name: sdkRouter,
    script: 'sdk-server.ts',
    metadataPath: '/.well-known/oauth-authorization-server',
    refreshPath: '/token',
    toolsList: true,
  },
  {
    name: oidcProvider,
    script: 'oidc-server.ts',
    metadataPath: '/.well-known/openid-configuration',
    refreshPath: '/token',
    toolsList: false,
  },
  {
    name: 'better-auth 1.7.5, in memory',
    script: 'better-auth-server.ts',
    metadataPath: '/.well-known/oauth-authorization-server/api/auth',
    refreshPath: '/api/auth/oauth2/token',
    toolsList: true,
    packages: {
      'better-auth': '1.7.5',
      '@better-auth/core': '1.7.5',
      '@better-auth/mcp': '1.7.5',
      '@better-auth/oauth-provider': '1.7.5',
      'better-call': '1.4.0',
    },
  },
]

/** A running rival, with the data of its ready line. */
export interface RunningRival {
  name: string
  child: Child
  port: number
  host: string
  refreshTokens: readonly string[]
  clientId: string
  accessToken: string
  /** Sent with every refresh, if required. */
  resource: string | undefined
}

/** Folders of rivals, and how much they prepare. */
export interface RivalSite {
  scratch: string
  /** Keeps packages of rivals between runs. */
  packageFolder: string
  connections: number
  say(text: string): void
}

/** Starts `rival`; `samples` are answers of Drawbridge that the floor repeats and whose tools the others list. */
export async function startRival(
  rival: Rival,
  site: RivalSite,
  samples: { metadata?: string; toolsList?: string } = {},
): Promise<RunningRival> {
  const packages = rival.packages && installPeers(rival.packages, site)
  const child = await startChild({
    name: rival.name,
    script: await writeServerScript(rival.script),
    argv: [String(site.connections)],
    directory: site.scratch,
    environment: {
      ...(packages !== undefined && { BENCH_PACKAGES: packages }),
      ...(samples.metadata !== undefined && { BENCH_METADATA: samples.metadata }),
      ...(samples.toolsList !== undefined && { BENCH_TOOLS_LIST: samples.toolsList }),
    },
    logFile: join(site.scratch, `${rival.script}.log`),
  })
  const ready = child.ready as {
    port: number
    clientId?: string
    refreshTokens?: string[]
    accessToken?: string
    resource?: string
  }
  return {
    name: rival.name,
    child,
    port: ready.port,
    host: `localhost:${ready.port}`,
    refreshTokens: ready.refreshTokens ?? [],
    clientId: ready.clientId ?? '',
    accessToken: ready.accessToken ?? '',
    resource: ready.resource,
  }
}
