/**
 * Compiles the peers in Go and Rust beforehand: tests that need one compile it too, which is quick then. Builds the app of Next.js and installs other frameworks,
 * without which their tests are skipped.
 */
import { buildGoServer } from '../support/bridge/process/go-server.ts'
import { buildDex } from './dex/dex-server.ts'
import { buildHosts } from './hosts/host-app.ts'
import { buildRustServer } from './rust-server/rust-server.ts'

buildHosts()
for (const build of [buildGoServer, buildDex, buildRustServer]) await build()
