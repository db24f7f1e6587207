/** How this computer reaches servers. Times in milliseconds, 0 for no limit. */
export interface NetworkConfig {
  connectTimeoutMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  /** Only IPv4 addresses of a host are tried. */
  ipv4: boolean
  /** PEM text of authorities trusted in addition to those of the system. */
  ca: string | undefined
  /** Undefined: straight. Each may carry user and password. `noProxy` is a list as in NO_PROXY. */
  proxy: { http: string | undefined; https: string | undefined; noProxy: string | undefined } | undefined
  /** Whether plain http goes beyond loopback. */
  allowHttp: boolean
  userAgent: string
}
