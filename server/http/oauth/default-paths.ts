import type { Endpoint } from '../endpoint.ts'

/** Where clients of MCP 2025-03-26 look for an authorization server without metadata, and what is served there. */
const defaultPaths: Readonly<Record<string, string>> = {
  '/authorize': '/oauth/authorize',
  '/token': '/oauth/token',
  '/register': '/oauth/register',
}

/**
 * `endpoints`, with those of the authorization server once more at the default paths of MCP 2025-03-26, which are at the root
 * of the origin. The Python SDK refreshes there whenever it starts with tokens that it has stored, because it does not store
 * where the token endpoint is. Nothing is added below a `basePath`: the root of the origin belongs to somebody else then.
 */
export function withDefaultPaths(endpoints: readonly Endpoint[], basePath: string): Endpoint[] {
  if (basePath !== '') return [...endpoints]
  const additional: Endpoint[] = []
  for (const [path, served] of Object.entries(defaultPaths)) {
    const endpoint = endpoints.find((row) => row.path === served)
    if (endpoint) additional.push({ ...endpoint, path })
  }
  return [...endpoints, ...additional]
}

/** Every path that the token endpoint answers at; the first one is in the metadata. */
export function tokenPaths(basePath: string): readonly string[] {
  const named = `${basePath}/oauth/token`
  return basePath === '' ? [named, '/token'] : [named]
}
