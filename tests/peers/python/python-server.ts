import { fileURLToPath } from 'node:url'
import { type ServingProcess, startServingProcess } from '../serving-process.ts'
import { inEnvironment, type PythonEnvironment } from './python-peer.ts'

/** Options of a Python server. */
export interface PythonServerOptions {
  environment: PythonEnvironment
  script: 'fastmcp_server.py' | 'sdk_server.py'
  port: number
  /** The BASE_URL of the Drawbridge in front of it. */
  issuer: string
}

/** Starts an MCP server in Python at `/mcp` of `port` on 127.0.0.1. */
export function startPythonServer({
  environment,
  script,
  port,
  issuer,
}: PythonServerOptions): Promise<ServingProcess> {
  const program = fileURLToPath(new URL(script, import.meta.url))
  return startServingProcess({
    command: inEnvironment(environment, 'bin/python'),
    args: [program, String(port), issuer],
    port,
  })
}
