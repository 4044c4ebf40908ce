// Reads and writes a ledger's static files with the Go project's own transparency log code (golang.org/x/mod/sumdb), which
// shares nothing with ours: notes, tiles, record and tree proofs.
//
//	read FOLDER VKEY         checks the note's signature, every tile against its root, every entry against the tiles, and
//	                         prints a proof of every entry and of every earlier size, one JSON object
//	write FOLDER KEY.pem TO  computes the tree of FOLDER's entries anew, and signs a checkpoint with that key
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// C2SP's tlog-tiles names: 1234067 is x001/x234/067, a tile of fewer than 256 hashes ends in .p/W.
func name(kind string, n int64, width int) string {
	text := fmt.Sprintf("%03d", n%1000)
	for n /= 1000; n > 0; n /= 1000 {
		text = fmt.Sprintf("x%03d/%s", n%1000, text)
	}
	if width < 1<<height {
		text += fmt.Sprintf(".p/%d", width)
	}
	return "tile/" + kind + "/" + text
}

type tiles struct{ folder string }

func (t tiles) Height() int { return height }
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		data, err := os.ReadFile(filepath.Join(t.folder, name(strconv.Itoa(tile.L), tile.N, tile.W)))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func entries(folder string, size int64) [][]byte {
	var all [][]byte
	for n := int64(0); n*256 < size; n++ {
		width := 256
		if size-n*256 < 256 {
			width = int(size - n*256)
		}
		data, err := os.ReadFile(filepath.Join(folder, name("entries", n, width)))
		must(err)
		for i := 0; i < width; i++ {
			length := int(binary.BigEndian.Uint16(data))
			all = append(all, data[2:2+length])
			data = data[2+length:]
		}
	}
	return all
}

func split(text string) (string, tlog.Tree) {
	lines := strings.Split(text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := base64.StdEncoding.DecodeString(lines[2])
	must(err)
	tree := tlog.Tree{N: size}
	copy(tree.Hash[:], root)
	return lines[0], tree
}

func hashes(list []tlog.Hash) []string {
	texts := []string{}
	for _, h := range list {
		texts = append(texts, base64.StdEncoding.EncodeToString(h[:]))
	}
	return texts
}

func read(folder, key string) {
	verifier, err := note.NewVerifier(key)
	must(err)
	data, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	must(err)
	opened, err := note.Open(data, note.VerifierList(verifier))
	must(err)
	origin, tree := split(opened.Text)
	reader := tlog.TileHashReader(tree, tiles{folder})
	result := map[string]interface{}{"origin": origin, "size": tree.N, "unverified": len(opened.UnverifiedSigs)}
	records, trees := [][]string{}, [][]string{}
	for i, entry := range entries(folder, tree.N) {
		proof, err := tlog.ProveRecord(tree.N, int64(i), reader) // checks each tile that it reads
		must(err)
		must(tlog.CheckRecord(proof, tree.N, tree.Hash, int64(i), tlog.RecordHash(entry)))
		records = append(records, hashes(proof))
	}
	for size := int64(1); size <= tree.N; size++ {
		older, err := tlog.TreeHash(size, reader)
		must(err)
		proof, err := tlog.ProveTree(tree.N, size, reader)
		must(err)
		must(tlog.CheckTree(proof, tree.N, tree.Hash, size, older))
		trees = append(trees, append([]string{base64.StdEncoding.EncodeToString(older[:])}, hashes(proof)...))
	}
	result["records"], result["trees"] = records, trees
	must(json.NewEncoder(os.Stdout).Encode(result))
}

// A note's signer as Go's package wants it: PRIVATE+KEY+name+hash+base64(1, seed).
func signer(name, path string) note.Signer {
	data, err := os.ReadFile(path)
	must(err)
	block, _ := pem.Decode(data)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	must(err)
	private := parsed.(ed25519.PrivateKey)
	public := append([]byte{1}, private.Public().(ed25519.PublicKey)...)
	digest := sha256.Sum256(append([]byte(name+"\n"), public...))
	text := "PRIVATE+KEY+" + name + "+" + hex.EncodeToString(digest[:4]) + "+" + base64.StdEncoding.EncodeToString(append([]byte{1}, private.Seed()...))
	result, err := note.NewSigner(text)
	must(err)
	return result
}

type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var all []tlog.Hash
	for _, i := range indexes {
		all = append(all, s[i])
	}
	return all, nil
}

func write(folder, key, to string) {
	data, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	must(err)
	origin, tree := split(string(data))
	all := entries(folder, tree.N)
	var kept stored
	for i, entry := range all {
		more, err := tlog.StoredHashes(int64(i), entry, kept)
		must(err)
		kept = append(kept, more...)
	}
	root, err := tlog.TreeHash(tree.N, kept)
	must(err)
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", origin, tree.N, base64.StdEncoding.EncodeToString(root[:]))}, signer(origin, key))
	must(err)
	put := func(path string, data []byte) {
		must(os.MkdirAll(filepath.Dir(filepath.Join(to, path)), 0o755))
		must(os.WriteFile(filepath.Join(to, path), data, 0o644))
	}
	put("checkpoint", signed)
	for _, tile := range tlog.NewTiles(height, 0, tree.N) {
		data, err := tlog.ReadTileData(tile, kept)
		must(err)
		put(name(strconv.Itoa(tile.L), tile.N, tile.W), data)
	}
	for n := int64(0); n*256 < tree.N; n++ {
		var bundle []byte
		part := all[n*256:]
		if len(part) > 256 {
			part = part[:256]
		}
		for _, entry := range part {
			bundle = append(binary.BigEndian.AppendUint16(bundle, uint16(len(entry))), entry...)
		}
		put(name("entries", n, len(part)), bundle)
	}
}

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "read":
		read(os.Args[2], os.Args[3])
	case len(os.Args) == 5 && os.Args[1] == "write":
		write(os.Args[2], os.Args[3], os.Args[4])
	default:
		must(fmt.Errorf("usage: read FOLDER VKEY | write FOLDER KEY.pem TO"))
	}
}
