module packer

go 1.19

require github.com/DataDog/zstd v1.5.6
