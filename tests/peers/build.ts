/** Compiles the peers in Go and Rust beforehand: tests that need one compile it too, which is quick then. */
import { buildGoServer } from '../support/bridge/process/go-server.ts'
import { buildDex } from './dex/dex-server.ts'
import { buildRustServer } from './rust-server/rust-server.ts'

for (const build of [buildGoServer, buildDex, buildRustServer]) await build()
