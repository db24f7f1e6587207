#!/bin/sh
# An MCP server over stdio of an earlier revision that starts at next to no cost, for tests that start many: `about` says which
# process it is, `die` ends it.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"about","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"about"'*) result="{\"content\":[],\"structuredContent\":{\"pid\":$$,\"env\":{\"TOKEN\":\"${TOKEN:-}\"}}}" ;;
    *'"name":"die"'*) exit 3 ;;
    *'"method":"notifications/'*) continue ;;
    *) result= ;;
  esac
  if [ -n "$result" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
  else printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id"
  fi
done
